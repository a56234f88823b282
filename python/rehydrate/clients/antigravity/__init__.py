"""The Antigravity CLI (`agy`), its desktop application and its IDE."""
