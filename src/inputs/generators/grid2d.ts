import {normals, randomStream} from '../../random/index.js'
import {mixTokens, TOKEN_NOISE} from './token-mixture.js'
import type {Generator} from './types.js'

/** Standard deviation of the smoothing, in grid cells. */
const SMOOTHING = 2

/** The smoothing kernel ends here: exp(-4.5) is 1 % of its top. */
const RADIUS = 3 * SMOOTHING

/**
 * Patches of an image: tokens lie row by row on the most nearly square grid that holds them, and
 * every channel is white noise smoothed by a separable Gaussian, of variance 1 everywhere, edges
 * included; `q, k = tokens + 0.3 noise` scaled to variance 1, `v = tokens` (see {@link mixTokens}).
 *
 * Parameters: smoothing 2 cells (cells r apart correlate by about `exp(-r^2 / 16)`), noise 0.3. Not
 * prefix-stable: the width of the grid depends on the length.
 */
export const grid2d: Generator = {
  name: 'grid2d',
  title: 'smooth 2-D grid',
  description: 'smooth random images read row by row, q, k = token + noise, v = token: vision-like',
  parameters: {smoothing: SMOOTHING, noise: TOKEN_NOISE},
  prefixStable: false,
  generate(shape) {
    return mixTokens(shape, 'grid2d', (length, width, head) => {
      const tokens = new Float64Array(length * width)
      const grid = squarestGrid(length)
      for (let channel = 0; channel < width; channel++) {
        const image = smoothImage(grid.rows, grid.columns, shape.seed, head, channel)
        for (let t = 0; t < length; t++) tokens[t * width + channel] = image[t]!
      }
      return tokens
    })
  },
}

/** The most nearly square grid with at least `cells` cells; no row of it is empty. */
export function squarestGrid(cells: number): {rows: number; columns: number} {
  const columns = Math.ceil(Math.sqrt(cells))
  return {rows: Math.ceil(cells / columns), columns}
}

/**
 * One channel, `[rows, columns]`: white noise on a grid with a margin of the kernel's radius on
 * every side, smoothed along rows, then along columns, which uses the margin up.
 */
function smoothImage(
  rows: number,
  columns: number,
  seed: number,
  head: number,
  channel: number,
): Float64Array {
  const stream = randomStream(seed, 'input.grid2d.token', head, channel)
  const noise = normals(stream, (rows + 2 * RADIUS) * (columns + 2 * RADIUS))
  const across = smooth(noise, rows + 2 * RADIUS, columns, columns + 2 * RADIUS, 1)
  return smooth(across, rows, columns, columns, columns)
}

/**
 * `out[i, j] = sum_r kernel[r] in[i * rowStride + j + r * tapStride]`, the sum of squared weights
 * being 1, so that white noise keeps its variance.
 */
function smooth(
  input: Float64Array,
  rows: number,
  columns: number,
  rowStride: number,
  tapStride: number,
): Float64Array {
  const out = new Float64Array(rows * columns)
  for (let i = 0; i < out.length; i++) {
    const start = Math.floor(i / columns) * rowStride + (i % columns)
    let sum = 0
    for (let r = 0; r < KERNEL.length; r++) sum += KERNEL[r]! * input[start + r * tapStride]!
    out[i] = sum
  }
  return out
}

/** Gaussian weights with squares that sum to 1. */
const KERNEL = gaussianKernel()

function gaussianKernel(): Float64Array {
  const weights = Float64Array.from({length: 2 * RADIUS + 1}, (_, r) =>
    Math.exp(-0.5 * ((r - RADIUS) / SMOOTHING) ** 2),
  )
  const norm = Math.sqrt(weights.reduce((sum, w) => sum + w * w, 0))
  return weights.map(w => w / norm)
}
