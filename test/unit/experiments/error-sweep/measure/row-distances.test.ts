import {describe, expect, it} from 'vitest'
import {
  ExactRows,
  RowDistances,
  type RowMetrics,
} from '../../../../../src/experiments/error-sweep/measure/row-distances.js'

/** Metrics of rows `[rows][keys]`, some keys at a time. */
function metricsOf(estimate: number[][], exact: number[][], tile = exact[0]!.length): RowMetrics {
  const rows = new ExactRows(exact.length)
  const distances = new RowDistances(exact.length)
  for (let first = 0; first < exact[0]!.length; first += tile) {
    const part = (all: number[][]) =>
      Float64Array.from(all.flatMap(row => row.slice(first, first + tile)))
    const count = Math.min(tile, exact[0]!.length - first)
    rows.add(part(exact), count, first)
    distances.add(part(estimate), part(exact), count, first)
  }
  return distances.metrics(rows)
}

describe('distances between rows', () => {
  it('agree with the definitions on a worked example', () => {
    const metrics = metricsOf([[0.25, 0.75]], [[0.5, 0.5]])
    expect(metrics.row_total_variation).toBe(0.25)
    expect(metrics.row_kl_nats).toBe(0.5 * Math.log(2) + 0.5 * Math.log(0.5 / 0.75))
    expect(metrics.row_kl_infinite_pct).toBe(0)
  })

  it('count rows with a weight that is not positive instead of averaging infinity', () => {
    const metrics = metricsOf(
      [
        [-0.5, 1.5],
        [0.5, 0.5],
      ],
      [
        [0.5, 0.5],
        [0.5, 0.5],
      ],
    )
    expect(metrics.row_kl_infinite_pct).toBe(50)
    expect(metrics.row_kl_nats).toBe(0)
    expect(metrics.row_total_variation).toBe(0.5)
  })

  it('ask for no weight where the exact one is below what float32 can tell from zero', () => {
    expect(metricsOf([[1, 0]], [[1 - 2 ** -30, 2 ** -30]]).row_kl_infinite_pct).toBe(0)
  })

  it('count estimates that are not finite as infinite divergence', () => {
    const metrics = metricsOf([[Number.NaN, 0.5]], [[0.5, 0.5]])
    expect(metrics.row_kl_infinite_pct).toBe(100)
    expect(metrics.row_kl_nats).toBeNaN()
  })

  it('share the keys of the largest weights', () => {
    const exact = [
      [0.4, 0.3, 0.2, 0.1],
      [0.1, 0.2, 0.3, 0.4],
    ]
    const estimate = [
      [0.4, 0.1, 0.2, 0.3],
      [0.4, 0.3, 0.2, 0.1],
    ]
    expect(metricsOf(estimate, exact)).toMatchObject({
      row_top1_agreement: 0.5,
      row_top8_agreement: 1, // of four keys all
    })
    const wide = [Array.from({length: 20}, (_, key) => (key + 1) / 210)]
    const shifted = [wide[0]!.map((_, key) => wide[0]![(key + 3) % 20]!)]
    // keys 12 to 19 against 9 to 16: five in common
    expect(metricsOf(shifted, wide).row_top8_agreement).toBe(5 / 8)
  })

  it('look for them among the keys that a row sees', () => {
    // what a mask hides has weight 0, above negative weights
    const metrics = metricsOf([[-0.5, 1.5, 0, 0]], [[0.6, 0.4, 0, 0]])
    expect(metrics).toMatchObject({row_top1_agreement: 0, row_top8_agreement: 1})
  })

  it('are the same tile by tile', () => {
    const row = (seed: number) =>
      Array.from({length: 23}, (_, key) => ((seed * (key + 1) * 7919) % 101) / 1000)
    const [exact, estimate] = [
      [row(3), row(5)],
      [row(11), row(13)],
    ]
    const whole = metricsOf(estimate, exact)
    for (const tile of [1, 5, 22]) {
      const tiled = metricsOf(estimate, exact, tile)
      expect(tiled.row_top8_agreement).toBe(whole.row_top8_agreement)
      expect(tiled.row_kl_infinite_pct).toBe(whole.row_kl_infinite_pct)
      // sums of 23 doubles in another order
      expect(Math.abs(tiled.row_kl_nats - whole.row_kl_nats)).toBeLessThanOrEqual(46 * 2 ** -52)
      expect(Math.abs(tiled.row_total_variation - whole.row_total_variation)).toBeLessThan(
        46 * 2 ** -52 * whole.row_total_variation,
      )
    }
  })
})
