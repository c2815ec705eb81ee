"""Who speaks: peers, roles, scopes, call tokens, permissions, logins."""
