import {asksEstimators} from '../src/cli/plans/method-specs.js'
import {toVariancePlan, varianceFlags} from '../src/cli/plans/variance.js'
import {sampledInput} from '../src/cli/plans/variance-input.js'
import {helpText} from '../src/cli/run/base-command.js'
import {ExperimentCommand} from '../src/cli/run/experiment-command.js'

export default class Variance extends ExperimentCommand {
  static override summary = 'Measure bias and variance of kernel estimates (as of exp(q.k))'
  static override description = helpText(
    'Draws features many times for pairs of vectors, given by norm and angle or taken from a file. Compares mean and variance of the kernel estimate with theory, and other projections with iid rows. If the tail is too heavy for the number of replicates, it prints the closed form and the number of replicates needed instead of a measured number. Presets and options act as in attention. An option without effect on the features of a pair, such as a guard of the denominator, is named; a method with only such options is skipped with the reason.',
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
