import * as Flags from '@oclif/core/flags'
import {REDRAW_FORMS} from '../src/attention/names.js'
import {helpText} from '../src/cli/base-command.js'
import {ExperimentCommand} from '../src/cli/experiment-command.js'
import {methodFlags, numberList, oneNumber, runFlags, toggle} from '../src/cli/flags.js'
import {BASELINES, BENCH, defaultHelp} from '../src/cli/plans/defaults.js'
import {COUNT, NON_NEGATIVE_NUMBER, POSITIVE_INTEGER} from '../src/cli/ranges.js'
import type {BenchRecord} from '../src/experiments/bench/schema.js'

const size = (description: string) => oneNumber(POSITIVE_INTEGER)({helpGroup: 'GRID', description})

export default class Bench extends ExperimentCommand {
  static override summary = 'Measure time and memory of forward passes against exact attention'
  static override description = helpText(
    `Runs each estimator at each length in a process of its own, checks its accuracy on a short prefix first, and compares with both exact forms (${BASELINES.join(', ')}).`,
  )
  static override examples = [
    '<%= config.bin %> bench --quick',
    '<%= config.bin %> bench --methods favor-pos,rfa --num-features 64,256 --seq-len 256..16k*2 --causal',
    '<%= config.bin %> bench --seq-len 1024 --min-time 2 --backend wasm --output results/wasm',
  ]
  static override flags = {
    ...methodFlags(BENCH),
    baseline: Flags.boolean({
      allowNo: true,
      default: true,
      helpGroup: 'GRID',
      description: `time ${BASELINES.join(' and ')} beside the methods`,
    }),
    redraw: Flags.string({
      helpGroup: 'GRID',
      helpValue: 'POLICY',
      description: `when projections are drawn anew, inside the timed region: ${REDRAW_FORMS} (default: fixed)`,
    }),
    'seq-len': numberList(POSITIVE_INTEGER)({
      helpGroup: 'GRID',
      description: `lengths L ${defaultHelp(BENCH, grid => grid.seqLens)}`,
    }),
    batch: size(`batch B ${defaultHelp(BENCH, grid => grid.batch)}`),
    heads: size(`heads H ${defaultHelp(BENCH, grid => grid.heads)}`),
    'head-dim': size(`head dimension D ${defaultHelp(BENCH, grid => grid.headDim)}`),
    'value-dim': size('value dimension Dv (default: D)'),
    causal: toggle('query i sees keys 0..i only', 'GRID'),
    warmup: oneNumber(COUNT)({
      helpGroup: 'TIMING',
      description: `runs before timing ${defaultHelp(BENCH, grid => grid.warmupRuns)}`,
    }),
    'min-time': oneNumber(NON_NEGATIVE_NUMBER)({
      helpGroup: 'TIMING',
      helpValue: 'SECONDS',
      description: `go on until this much was timed ${defaultHelp(BENCH, grid => grid.minTime)}`,
    }),
    'min-runs': oneNumber(POSITIVE_INTEGER)({
      helpGroup: 'TIMING',
      description: `at least this many runs ${defaultHelp(BENCH, grid => grid.minRuns)}`,
    }),
    'max-runs': oneNumber(POSITIVE_INTEGER)({
      helpGroup: 'TIMING',
      description: `at most this many runs ${defaultHelp(BENCH, grid => grid.maxRuns)}`,
    }),
    order: Flags.option({options: ['listed', 'random'] as const})({
      helpGroup: 'TIMING',
      description: 'order of the cells; random spreads drift over all of them (default: random)',
    }),
    ...runFlags,
  }

  async run() {
    const {flags} = await this.parse(Bench)
    const {toBenchPlan} = await import('../src/cli/plans/bench.js')
    const {benchReport} = await import('../src/experiments/bench/report.js')
    const plan = toBenchPlan(flags, await this.estimators())
    return this.conduct(plan, flags, records => benchReport(records as BenchRecord[]))
  }
}
