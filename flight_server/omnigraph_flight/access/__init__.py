"""Who reaches which graph, and how much of the server: authentication, policies, admission.

Holds the open graphs and the results stored beside them. Imports `protocol`.
"""
