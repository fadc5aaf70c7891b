import {helpText} from '../src/cli/base-command.js'
import {ExperimentCommand} from '../src/cli/experiment-command.js'
import {methodFlags, numberList, oneNumber, runFlags} from '../src/cli/flags.js'
import {defaultHelp, VARIANCE} from '../src/cli/plans/defaults.js'
import {ANGLE, NON_NEGATIVE_NUMBER, POSITIVE_INTEGER} from '../src/cli/ranges.js'
import type {VarianceRecord} from '../src/experiments/variance/schema.js'

export default class Variance extends ExperimentCommand {
  static override summary =
    'Measure bias and variance of kernel estimates against their closed forms'
  static override description = helpText(
    'Draws features many times for pairs of vectors of given norm and angle, and compares mean and variance of the kernel estimate with theory, and other projections with iid rows. Where the tail is too heavy for the replicates asked for, it prints the closed form and how many it would take, and no measured number. Presets and options act as in attention; one that is no part of the features of a pair, such as a guard of the denominator, is named or, alone, skipped with the reason.',
  )
  static override examples = [
    '<%= config.bin %> variance --quick',
    '<%= config.bin %> variance --methods favor-pos,favor-hyp --projections iid,orth --num-features 16..256*2',
    '<%= config.bin %> variance --head-dim 64 --norms 0.5..2+0.5 --angles 0,90,180 --replicates 5000',
  ]
  static override flags = {
    ...methodFlags(VARIANCE),
    'head-dim': numberList(POSITIVE_INTEGER)({
      helpGroup: 'GRID',
      description: `head dimensions D ${defaultHelp(VARIANCE, grid => grid.headDims)}`,
    }),
    norms: numberList(NON_NEGATIVE_NUMBER)({
      helpGroup: 'GRID',
      description: `norms of both vectors, canonical ${defaultHelp(VARIANCE, grid => grid.norms)}`,
    }),
    angles: numberList(ANGLE)({
      helpGroup: 'GRID',
      description: `angles between them in degrees ${defaultHelp(VARIANCE, grid => grid.anglesDeg)}`,
    }),
    replicates: oneNumber(POSITIVE_INTEGER)({
      helpGroup: 'GRID',
      description: `independent draws, at least 2 ${defaultHelp(VARIANCE, grid => grid.replicates)}`,
    }),
    ...runFlags,
  }

  async run() {
    const {flags} = await this.parse(Variance)
    const {toVariancePlan} = await import('../src/cli/plans/variance.js')
    const {varianceReport} = await import('../src/experiments/variance/report.js')
    const plan = toVariancePlan(flags, await this.estimators())
    return this.conduct(plan, flags, records => varianceReport(records as VarianceRecord[]))
  }
}
