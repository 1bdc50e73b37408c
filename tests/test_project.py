"""The project's frame: which room imports which, what an import loads, what the wheel holds, and that pins, ranges and
commands agree with each other. Reads source text and metadata; knows nothing of the game."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from malilla_env.rules import PRESETS

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# A room may import from itself and from what stands before it; programs are the last.
ROOMS = ("malilla_env", "agents", "arena", "web")
PROGRAMS = ("train", "evaluate", "export", "play")
BEYOND_THE_GAME = {"pettingzoo", "gymnasium"}


def sources(room: str) -> list[Path]:
    """Files of a room: a package's modules, or the one file of a program."""
    return sorted((ROOT / room).rglob("*.py")) or [path for path in [ROOT / f"{room}.py"] if path.exists()]


def imported(path: Path) -> Iterator[str]:
    """Top-level names that a file imports, wherever in the file it does so."""
    for node in ast.walk(ast.parse(path.read_text(), filename=str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0] if node.level == 0 else path.relative_to(ROOT).parts[0]


def names_loaded_by(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter holds after `statement`."""
    code = f"{statement}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("room", ROOMS + PROGRAMS)
def test_imports_point_one_way(room: str) -> None:
    later = set(ROOMS[ROOMS.index(room) + 1 :] if room in ROOMS else ()) | (set(PROGRAMS) - {room})
    if room not in ("malilla_env", "web", "play"):
        later.add("web")
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}" for path in sources(room) for name in imported(path) if name in later
    ]
    assert not wrong


@pytest.mark.parametrize("room", ["agents", "train"])
def test_training_imports_no_environment_library(room: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources(room)
        for name in imported(path)
        if name in BEYOND_THE_GAME
    ]
    assert not wrong


def test_the_game_needs_no_training_library() -> None:
    allowed = set(sys.stdlib_module_names) | {"malilla_env", "numpy", "numba", "llvmlite"} | BEYOND_THE_GAME
    optional = {"picture.py": {"PIL"}, "policy.py": {"onnxruntime"}}
    files = sources("malilla_env")
    assert files
    wrong = [
        f"{path.name} imports {name}"
        for path in files
        for name in imported(path)
        if name not in allowed | optional.get(path.name, set())
    ]
    assert not wrong


def texts(path: Path) -> set[str]:
    """The strings of a file's code: docstrings are not among them."""
    tree = ast.parse(path.read_text(), filename=str(path))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told
    }


def test_no_code_but_the_rules_names_a_game() -> None:
    """A game is data: what others ask is a field of its rule set. `malilla` may stand as what is played by default."""
    files = [path for room in ROOMS + PROGRAMS for path in sources(room) if path.name != "rules.py"]
    named = {path.name: texts(path) & set(PRESETS) - {"malilla"} for path in files}
    assert not {name: games for name, games in named.items() if games}


def test_import_loads_neither_pettingzoo_nor_gymnasium() -> None:
    assert not names_loaded_by("import malilla_env") & BEYOND_THE_GAME


def test_the_wheel_holds_the_game_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(command, capture_output=True, text=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = {Path(name) for name in zipfile.ZipFile(wheel).namelist()}
    tops = {path.parts[0] for path in held}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"malilla_env"}
    assert {path.relative_to(ROOT) for path in sources("malilla_env")} <= held
    assert any(path.name == "LICENSE" for path in held)


def requirements() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    texts = PROJECT["dependencies"] + [text for extra in extras for text in extra]
    return [Requirement(text) for text in texts]


def pins() -> dict[str, Version]:
    lines = (line.split("#")[0].strip() for line in (ROOT / "constraints.txt").read_text().splitlines())
    split = (line.split("==") for line in lines if line)
    return {canonicalize_name(name): Version(version) for name, version in split}


def test_pins_lie_within_the_ranges() -> None:
    pinned = pins()
    outside = [
        str(need)
        for need in requirements()
        if canonicalize_name(need.name) != PROJECT["name"]
        and (need.name not in pinned or not need.specifier.contains(pinned[canonicalize_name(need.name)]))
    ]
    assert not outside


def needed_packages() -> dict[str, Version]:
    """The packages that `.[all]` brings, dependencies of dependencies included, and their installed versions."""
    found: dict[str, Version] = {}
    waiting = [need for need in requirements() if canonicalize_name(need.name) != PROJECT["name"]]
    while waiting:
        need = waiting.pop()
        name = canonicalize_name(need.name)
        if name in found:
            continue
        distribution = metadata.distribution(name)
        found[name] = Version(distribution.version)
        follow = (Requirement(text) for text in distribution.requires or ())
        waiting += [then for then in follow if then.marker is None or then.marker.evaluate({"extra": ""})]
    return found


def test_every_installed_package_is_pinned() -> None:
    """No version that `make setup` brings is left to what the registry offers that day."""
    pinned = pins()
    loose = {
        name: f"{version} installed, {pinned.get(name, 'not')} pinned"
        for name, version in needed_packages().items()
        if name not in pinned or version.public != pinned[name].public
    }
    assert not loose


def test_pip_settings_of_a_machine_stay_out_of_the_repository() -> None:
    texts = [
        path.read_text()
        for path in (ROOT / "Makefile", ROOT / "pyproject.toml", ROOT / "constraints.txt", ROOT / ".ci" / "run")
    ]
    assert not [word for word in ("find-links", "index-url", "PIP_", "file://") if any(word in text for text in texts)]


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", ".ci/run"])
def test_make_targets_that_texts_name_exist(name: str) -> None:
    named = set(re.findall(r"(?:`|^ *|\$ )make ([a-z][a-z-]*)", (ROOT / name).read_text(), flags=re.MULTILINE))
    assert named
    assert named <= make_targets()
