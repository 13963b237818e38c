"""A clone runs its own code: an environment of another clone would run the other's, with the other's configuration."""

from __future__ import annotations

from pathlib import Path

from privrep.run.settings import ConfigError

LIBRARY = Path(__file__).resolve().parents[1]


def check_clone(folder: Path) -> None:
    """Nothing, where a folder is no clone, or the one whose library this is.

    Parameters
    ----------
    folder : where a command is run.

    Raises
    ------
    ConfigError
        If it is another clone; the message names both.
    """
    own = (folder / "src" / "privrep").resolve()
    if own.is_dir() and own != LIBRARY:
        raise ConfigError(
            f"the code of {own} would not run here, but that of {LIBRARY}, whose environment this is; run make here, "
            "or activate the environment of this folder"
        )
