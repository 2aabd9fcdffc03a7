"""Every setting in force, with secrets masked, and which of them no file sets: the answer of `flex
config show`, for the terminal and programs.
"""

from __future__ import annotations

from flex_api.schemas.verbs_output import ConfigShowOutput
from flex_api.settings import file as config
from flex_api.settings.file import Settings


def config_show_output(settings: Settings) -> ConfigShowOutput:
    """The file is empty where they come from none."""
    origin, given = config.read_from(settings), config.keys_set(settings)
    shown = config.mask_secrets(settings)
    return ConfigShowOutput(
        file=str(origin.path) if origin else "",
        settings=shown,
        defaults=[name for name in config.flat(shown) if name not in given],
    )
