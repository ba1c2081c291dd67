"""The only code that moves a branch: plans, their validation, one publish, one retry policy.

Promises that a plan lands whole or not at all, at most once, and that `PublishContention` and
`CommitUnknown` tell which. Imports `core` and `manifest`.
"""
