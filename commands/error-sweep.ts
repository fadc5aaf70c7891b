import {errorSweepFlags, toErrorSweepPlan, withSaved} from '../src/cli/plans/error-sweep.js'
import {withCausal} from '../src/cli/plans/input-spec.js'
import {asksEstimators} from '../src/cli/plans/method-specs.js'
import {fewerDraws, tunedFile} from '../src/cli/plans/tuned.js'
import {helpText} from '../src/cli/run/base-command.js'
import {ExperimentCommand} from '../src/cli/run/experiment-command.js'
import {PACKAGED_CAUSAL_INPUT, PACKAGED_INPUT} from '../src/inputs/packaged.js'

export default class ErrorSweep extends ExperimentCommand {
  static override summary = 'Measure how far random-feature attention is from exact attention'
  static override description = helpText(
    `Compares each estimator with exact softmax attention on queries, keys and values of your own, or by default on those of a pretrained sentence encoder (${PACKAGED_INPUT}; with --causal of a character model, ${PACKAGED_CAUSAL_INPUT}), or on generated ones, and splits the error into bias and variance, with six replicates or more.`,
  )
  static override examples = [
    '<%= config.bin %> error-sweep --quick',
    '<%= config.bin %> error-sweep --input qkv.safetensors --methods favor-pos,rfa --num-features 64..1kx2 --causal',
    '<%= config.bin %> error-sweep --input model.safetensors --layer 0,3 --methods favor-pos,rfa',
    '<%= config.bin %> error-sweep --input q.npy,k.npy,v.npy --scales 0.25..4x2 --output results/scales',
    '<%= config.bin %> error-sweep --input qkv.safetensors --methods favor-pos --parameters tuned.safetensors',
    '<%= config.bin %> error-sweep --generator gaussian --seq-len 256,1024 --preset exact,performer-pytorch --dry-run',
  ]
  static override flags = errorSweepFlags

  async run() {
    const {flags} = await this.parse(ErrorSweep)
    const saved = await this.savedPlan(flags)
    const estimators = await this.estimators(!saved && asksEstimators(flags))
    if (saved) return this.runOrDescribe(saved, flags)
    const tuned = await tunedFile(flags)
    this.caution(fewerDraws(flags.replicates, tuned))
    const asked = await withCausal(withSaved(flags, await this.planGoneOnWith(flags)))
    return this.runOrDescribe(toErrorSweepPlan(asked, estimators, tuned), flags)
  }

  private async planGoneOnWith({output, resume}: {output?: string | undefined; resume: boolean}) {
    return resume && output !== undefined ? this.services.readPlan(output) : undefined
  }
}
