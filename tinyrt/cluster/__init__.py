"""Work for several processes or machines: Dask runs it, what is here says what may go wrong.

``tasks`` is a piece of work and how it may fail, ``workers`` who does it, ``pieces`` work whose
results are wanted in order.
"""
