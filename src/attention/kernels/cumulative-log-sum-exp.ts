import {tf} from '../../tf.js'
import {CAUSAL_CHUNK} from './causal-sums.js'
import {cumulativeAxes} from './checks.js'
import {fusedOrComposite} from './dispatch.js'
import {MASKED} from './masking.js'

/**
 * Logarithm of running sums, `out_i = log sum_{j <= i} exp(x_j)` along the second axis. Later rows play no part in
 * earlier ones, and nothing overflows.
 *
 * @param x - `[N, rows, F]`; entries of MASKED take no part
 * @returns `[N, rows, F]`; about MASKED where nothing was summed
 * @throws {SHAPE_MISMATCH | BAD_OPTION} for another
 */
export function cumulativeLogSumExp(x: tf.Tensor3D): tf.Tensor3D {
  cumulativeAxes({x})
  const [out] = fusedOrComposite('CumulativeLogSumExp', {x}, {}, () => [composite(x)])
  return out as tf.Tensor3D
}

/**
 * By doubling: first inside chunks, then over the chunks' totals. Each entry goes through `log2(rows) + 1` merges of at most
 * 3 roundings of its size.
 */
function composite(x: tf.Tensor3D): tf.Tensor3D {
  const [batch, rows, width] = x.shape
  if (rows <= CAUSAL_CHUNK) return doubled(x)
  const chunks = Math.ceil(rows / CAUSAL_CHUNK)
  const length = chunks * CAUSAL_CHUNK
  const padded = tf.concat([x, masked([batch, length - rows, width])], 1)
  const inside = doubled(tf.reshape(padded, [batch * chunks, CAUSAL_CHUNK, width]))
  const totals = tf.slice(inside, [0, CAUSAL_CHUNK - 1, 0], [batch * chunks, 1, width])
  const upTo = doubled(tf.reshape(totals, [batch, chunks, width]))
  const carried: tf.Tensor3D = tf.reshape(shifted(upTo, 1), [batch * chunks, 1, width])
  // as many rows as there are: the gradient of a maximum does not sum what a row was repeated for
  const before = tf.tile<tf.Tensor3D>(carried, [1, CAUSAL_CHUNK, 1])
  const all: tf.Tensor3D = tf.reshape(logAddExp(inside, before), [batch, length, width])
  return tf.slice(all, [0, 0, 0], [batch, rows, width])
}

/** Every row with all rows before it, in log2(rows) steps. */
function doubled(x: tf.Tensor3D): tf.Tensor3D {
  let sums = x
  for (let step = 1; step < x.shape[1]; step *= 2) sums = logAddExp(sums, shifted(sums, step))
  return sums
}

/** Row i becomes row i + step; the first rows hold nothing. */
function shifted(x: tf.Tensor3D, step: number): tf.Tensor3D {
  const [batch, rows, width] = x.shape
  const kept = tf.slice(x, [0, 0, 0], [batch, rows - step, width])
  return tf.concat([masked([batch, step, width]), kept], 1) as tf.Tensor3D
}

function masked(shape: [number, number, number]): tf.Tensor3D {
  return tf.fill(shape, MASKED)
}

/** log(e^a + e^b); its gradient is right at ties too, where that of `max + log1p` is not. */
function logAddExp(a: tf.Tensor3D, b: tf.Tensor3D): tf.Tensor3D {
  const top = tf.maximum(a, b)
  const sum = tf.add(tf.exp(tf.sub(a, top)), tf.exp(tf.sub(b, top)))
  return tf.add(top, tf.log(sum))
}
