"""The web page: chat, plugins, models and settings in a browser, and the REST interface behind it."""
