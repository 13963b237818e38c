"""Methods and experiments that a study's settings can name, of the library, of images and of the replication."""

from __future__ import annotations

from functools import partial

from privrep.methods.running import registry

PACKAGES = (*registry.METHODS, "replication.methods", "images", "replication.experiments")
"""Packages whose files can be named in a study's settings."""

load_options = partial(registry.load_options, packages=PACKAGES)
options_class = partial(registry.options_class, packages=PACKAGES)
method_files = partial(registry.method_files, packages=PACKAGES)
