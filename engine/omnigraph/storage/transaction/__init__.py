"""From operations to staged table versions to one publish plan."""
