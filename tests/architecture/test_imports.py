"""What a start may import, and that importing has no effect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"


def modules_after(code: str, home: Path) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(SRC)}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_every_module_leaves_no_trace(tmp_path: Path) -> None:
    names = [
        ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
        for path in SRC.rglob("*.py")
        if path.name != "__main__.py" and "tui" not in path.parts
    ]
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o500)
    code = "\n".join(f"import {name}" for name in sorted(names)) + "\nprint('loaded')"
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(SRC)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=home, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("loaded\n", "")
    assert list(home.iterdir()) == []


def test_version_imports_only_the_standard_library(tmp_path: Path) -> None:
    code = "sys.argv=['relay','--version']\nfrom relay.cli.main import main\nmain(['--version'])"
    loaded = modules_after(code, tmp_path)
    foreign = {name.split(".")[0] for name in loaded} & {
        "msgspec",
        "httpcore2",
        "yaml",
        "PIL",
        "asyncio",
        "ssl",
    }
    assert not foreign
