"""What every route may ask for: the settings and the store that the application was made with."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from flex.ports import Store
from flex_api.settings import Settings


def _store(request: Request) -> Store:
    store: Store = request.app.state.store
    return store


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


TheStore = Annotated[Store, Depends(_store)]
TheSettings = Annotated[Settings, Depends(_settings)]
