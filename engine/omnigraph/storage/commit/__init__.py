"""The only code that moves a branch: plans, their validation, publishing, bulk registrations."""
