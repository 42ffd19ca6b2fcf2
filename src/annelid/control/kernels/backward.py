"""Networks there and back, a layer a launch: what a call computes is kept, and rates are gathered, never scattered.

A *row* is a network that is called: one a world, or one a channel where each has its own. All is in double precision.
Weights of a layer stand neuron by neuron, those of its inputs first; the value that drives the network and the bias are
inputs, too.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def fill_inputs(
    rows: int,
    own: int,
    signals: int,
    driving: wp.float64,
    neighbours: wp.array2d[wp.int32],
    readings: wp.array2d[wp.float64],
    said: wp.array2d[wp.float64],
    inputs_out: wp.array2d[wp.float64],
):
    """Inputs of the first layer of each row: its readings, what neighbours said a call before, the drive, the bias.

    `rows` are those of a world; `own` readings belong to each.
    """
    row, i = wp.tid()
    world, member = row // rows, row % rows
    last = inputs_out.shape[1] - 1
    value = driving
    if i < own:
        value = readings[world, member * own + i]
    elif i < own + 4 * signals:
        side = (i - own) // signals
        other = neighbours[member, side]
        value = wp.float64(0.0)
        if other >= 0:  # what it sent in the opposite direction
            value = said[world * rows + other, 1 + ((side + 2) % 4) * signals + (i - own) % signals]
    elif i == last:
        value = wp.float64(1.0)
    inputs_out[row, i] = value


@wp.kernel(enable_backward=False)
def pass_layer(
    rows: int,
    stride: int,
    first: int,
    weights: wp.array2d[wp.float64],
    inputs: wp.array2d[wp.float64],
    neurons_out: wp.array2d[wp.float64],
):
    """A neuron of a row; `stride` is from the weights of one member of a world to those of the next, 0 if shared."""
    row, neuron = wp.tid()
    width = inputs.shape[1]
    at = first + (row % rows) * stride + neuron * width
    total = wp.float64(0.0)
    for i in range(width):
        total += weights[row // rows, at + i] * inputs[row, i]
    neurons_out[row, neuron] = wp.tanh(total)


@wp.kernel(enable_backward=False)
def heard_rates(
    rows: int,
    own: int,
    signals: int,
    neighbours: wp.array2d[wp.int32],
    rates: wp.array2d[wp.float64],
    by_inputs: wp.array2d[wp.float64],
    by_neurons_out: wp.array2d[wp.float64],
):
    """Rates by what the last layer of a row says: a control value, and signals that neighbours hear a call later."""
    row, neuron = wp.tid()
    world, member = row // rows, row % rows
    rate = wp.float64(0.0)
    if signals == 0:
        rate = rates[world, member * by_neurons_out.shape[1] + neuron]
    elif neuron == 0:
        rate = rates[world, member]
    else:
        side = (neuron - 1) // signals
        other = neighbours[member, side]
        if other >= 0:
            rate = by_inputs[world * rows + other, own + ((side + 2) % 4) * signals + (neuron - 1) % signals]
    by_neurons_out[row, neuron] = rate


@wp.kernel(enable_backward=False)
def through_tanh(neurons: wp.array2d[wp.float64], by_neurons: wp.array2d[wp.float64]):
    """From rates by neurons to those by their sums, in place; the bias of a layer is none of its neurons."""
    row, neuron = wp.tid()
    value = neurons[row, neuron]
    by_neurons[row, neuron] = by_neurons[row, neuron] * (wp.float64(1.0) - value * value)


@wp.kernel(enable_backward=False)
def rate_inputs(
    rows: int,
    stride: int,
    first: int,
    width: int,
    weights: wp.array2d[wp.float64],
    by_sums: wp.array2d[wp.float64],
    by_inputs_out: wp.array2d[wp.float64],
):
    """Rates by an input of a layer, from those by the sums of its neurons."""
    row, i = wp.tid()
    at = first + (row % rows) * stride + i
    total = wp.float64(0.0)
    for neuron in range(by_sums.shape[1]):
        total += weights[row // rows, at + neuron * width] * by_sums[row, neuron]
    by_inputs_out[row, i] = total


@wp.kernel(enable_backward=False)
def rate_weights(
    rows: int,
    stride: int,
    first: int,
    inputs: wp.array2d[wp.float64],
    by_sums: wp.array2d[wp.float64],
    by_weights: wp.array2d[wp.float64],
):
    """Add rates by a weight of a layer: of its own member, or summed over all members of the world that share it."""
    world, member, k = wp.tid()
    width = inputs.shape[1]
    neuron, i = k // width, k % width
    begin, end = member, member + 1
    if stride == 0:
        end = rows
    total = wp.float64(0.0)
    for one in range(begin, end):
        row = world * rows + one
        total += by_sums[row, neuron] * inputs[row, i]
    at = first + member * stride + k
    by_weights[world, at] = by_weights[world, at] + total


@wp.kernel(enable_backward=False)
def gather_readings(
    rows: int,
    own: int,
    by_inputs: wp.array2d[wp.float64],
    by_readings_out: wp.array2d[wp.float64],
):
    """Rates by readings of a world from those by inputs of its rows."""
    world, k = wp.tid()
    by_readings_out[world, k] = by_inputs[world * rows + k // own, k % own]


@wp.kernel(enable_backward=False)
def pick_values(rows: int, neurons: wp.array2d[wp.float64], values_out: wp.array2d[wp.float64]):
    """Control values of a world: all neurons of its one row, or the first of each of its rows."""
    world, channel = wp.tid()
    if rows == 1:
        values_out[world, channel] = neurons[world, channel]
    else:
        values_out[world, channel] = neurons[world * rows + channel, 0]
