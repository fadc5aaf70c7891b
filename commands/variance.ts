import {asksEstimators} from '../src/cli/plans/method-specs.js'
import {toVariancePlan, varianceFlags} from '../src/cli/plans/variance.js'
import {sampledInput} from '../src/cli/plans/variance-input.js'
import {helpText} from '../src/cli/run/base-command.js'
import {ExperimentCommand} from '../src/cli/run/experiment-command.js'

export default class Variance extends ExperimentCommand {
  static override summary =
    'Measure bias and variance of kernel estimates against their closed forms'
  static override description = helpText(
    'Draws features many times for pairs of vectors of given norm and angle, or of those of a file, and compares mean and variance of the kernel estimate with theory, and other projections with iid rows. Where the tail is too heavy for the replicates asked for, it prints the closed form and how many it would take, and no measured number. Presets and options act as in attention; one that is no part of the features of a pair, such as a guard of the denominator, is named or, alone, skipped with the reason.',
  )
  static override examples = [
    '<%= config.bin %> variance --quick',
    '<%= config.bin %> variance --methods favor-pos,favor-hyp --projections iid,orth --num-features 16..256x2',
    '<%= config.bin %> variance --input qkv.npz --pairs 32',
    '<%= config.bin %> variance --sum-norms 0.5..2+0.5 --difference-norms 0,1',
    '<%= config.bin %> variance --head-dim 64 --norms 0.5..2+0.5 --angles 0,90,180 --replicates 5000',
  ]
  static override flags = varianceFlags

  async run() {
    const {flags} = await this.parse(Variance)
    const saved = await this.savedPlan(flags)
    const asked = asksEstimators(flags) || flags.methods !== undefined // not all estimate a kernel
    const estimators = await this.estimators(!saved && asked)
    const listeners = {
      note: (text: string) => this.note(text),
      warn: (text: string) => this.caution(text),
    }
    const sampled = saved ? undefined : await sampledInput(flags, listeners)
    return this.runOrDescribe(saved ?? toVariancePlan(flags, estimators, sampled), flags)
  }
}
