"""Who may see the console: only this host, users with passwords, an OpenID provider, or a proxy that names them."""
