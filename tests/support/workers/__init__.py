"""Programs that tests run in processes of their own, one job after the other.

`python -m support.workers.host` waits for jobs on its standard input. A job names a module of this
package, whose `work` does it; it waits for the word to begin, and reports what it did as one JSON
object per line. What it reported before it was killed is all that the outside world knows of it.
"""
