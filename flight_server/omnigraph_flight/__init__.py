"""The Arrow Flight SQL server: transport, sessions, tickets, authentication, policies.

May import omnigraph and omnigraph_sql; neither knows of it.
"""
