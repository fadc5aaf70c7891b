/** What is printed in terminals of 40 to 120 columns, and where there is none. */
import {describe, expect, it} from 'vitest'
import Methods from '../../commands/methods.js'
import {benchReport} from '../../src/experiments/bench/report/report.js'
import {errorSweepReport} from '../../src/experiments/error-sweep/report/report.js'
import {varianceReport} from '../../src/experiments/variance/report/report.js'
import {renderTerminal} from '../../src/report/terminal.js'
import {timed} from '../helpers/records/bench.js'
import {deterministic, metric, skippedSweep, sweep} from '../helpers/records/error-sweep.js'
import {variance} from '../helpers/records/variance.js'
import {runCommand} from './run-command.js'

const WIDTHS = [40, 60, 80, 100, 120]

const SWEEP = errorSweepReport([
  ...(['iid', 'orth'] as const).flatMap(projection =>
    [64, 256].map(num_features => {
      // the least of its F
      const best = projection === 'orth' && num_features === 256
      const errors = best ? {rel_l2: metric(0.125, 0.12, 0.13)} : {}
      return sweep({projection, num_features}, {feature_dim: num_features, ...errors})
    }),
  ),
  sweep(
    {method: 'favor-trig', projection: 'iid', num_features: 256},
    {
      feature_dim: 512,
      rel_l2: metric(1.2e6, 3.4e4, 5.6e9),
      mse: metric(12, 10, 14),
      mse_over_mean_value: 1_460_000,
      negative_denominators_pct: metric(16.8),
    },
  ),
  deterministic('elu', {feature_dim: 64}),
  deterministic('softmax', {rel_l2: metric(1.2e-7), mse_over_mean_value: 7e-13}),
  skippedSweep('no causal form', {method: 'identity'}),
])
const BENCH = benchReport(
  [128, 256, 512].flatMap(seq_len => [
    timed({seq_len}),
    timed({seq_len, method: 'softmax-online', projection: null, num_features: null}),
  ]),
)
const VARIANCE = varianceReport([variance(), variance({angle_deg: 180}, 0.9)])

/** Lines that a terminal would break. */
const tooLong = (text: string, width: number) =>
  text.split('\n').filter(line => line.length > width)

describe.each(WIDTHS)('in %i columns', width => {
  const layout = {width, colour: false}

  it('a sweep is shown so', () => {
    expect(renderTerminal(SWEEP, layout)).toMatchSnapshot()
  })

  it.each([
    ['a sweep', SWEEP],
    ['a benchmark', BENCH],
    ['a variance experiment', VARIANCE],
  ])('%s breaks no line', (_, blocks) => {
    expect(tooLong(renderTerminal(blocks, layout), width)).toEqual([])
  })

  it('the error of a sweep keeps what comparisons need', () => {
    const text = renderTerminal(SWEEP, layout)
    const [, table = ''] = text.split('Error against softmax of the given')
    const titles = table.split('\n').slice(1, 7).join(' ')
    for (const title of ['method', 'M', 'F', 'rel L2']) expect(titles).toContain(` ${title} `)
  })

  it.each([[], ['rfa'], ['eva'], ['--projections'], ['--preset', 'hku']])(
    'rfa methods %s breaks no line',
    async (...argv: string[]) => {
      const before = process.env.COLUMNS
      process.env.COLUMNS = String(width)
      try {
        const {stdout, exitCode} = await runCommand(Methods, 'methods', argv)
        expect(exitCode).toBe(0)
        expect(stdout.length).toBeGreaterThan(100)
        expect(tooLong(stdout, width)).toEqual([])
      } finally {
        if (before === undefined) delete process.env.COLUMNS
        else process.env.COLUMNS = before
      }
    },
  )
})

describe('where nobody reads a screen', () => {
  const text = renderTerminal(SWEEP, {width: 120, colour: false, whole: true})

  it('a sweep is shown so', () => {
    expect(text).toMatchSnapshot()
  })

  it('no column is left out', () => {
    expect(text).not.toContain('too wide')
    for (const title of ['mean MSE', 'bias^2', 'variance', 'cosine', 'den<0 %']) {
      expect(text).toContain(` ${title}`)
    }
  })

  it('numbers are of one style', () => {
    expect(text).not.toMatch(/\de\+/)
    expect(text).toContain('1200000 [34000, 5.6e9]')
  })
})
