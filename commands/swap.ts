import {asksEstimators, type EstimatorFacts} from '../src/cli/plans/method-specs.js'
import {lessRead, quickRead} from '../src/cli/plans/quick-read.js'
import {type SwapFlags, swapFlags, toSwapPlan} from '../src/cli/plans/swap.js'
import {fewerDraws, learnedElsewhere, tunedFile} from '../src/cli/plans/tuned.js'
import {helpText} from '../src/cli/run/base-command.js'
import {ExperimentCommand} from '../src/cli/run/experiment-command.js'
import type {SwapPlan} from '../src/experiments/swap/schema.js'
import type {Plan} from '../src/results/record.js'

export default class Swap extends ExperimentCommand {
  static override summary = 'Exchange the attention of a pretrained model and measure what it loses'
  static override description = helpText(
    'Runs a pretrained model with the attention of some or all of its layers exchanged, nothing trained, and compares it with the original: nats per token and next tokens of a causal model, embeddings of an encoder, hidden states of both.',
  )
  static override examples = [
    '<%= config.bin %> swap --quick',
    '<%= config.bin %> swap --model ./all-MiniLM-L6-v2 --texts texts.txt --methods favor-pos,lara --num-features 64,256',
    '<%= config.bin %> swap --layers each --methods favor-pos --num-features 256',
    '<%= config.bin %> swap --model ./all-MiniLM-L6-v2 --tuned tuned.safetensors',
    '<%= config.bin %> swap --budget 0.01 --methods favor-pos --num-features 256',
  ]
  static override flags = swapFlags

  async run() {
    const {flags} = await this.parse(Swap)
    const saved = await this.savedPlan(flags)
    const estimators = await this.estimators(!saved && asksEstimators(flags))
    const isFirst = this.gridFlags(flags).join() === '--quick'
    const plan: Plan = saved ?? (await this.planOf(flags, estimators, isFirst))
    const run = await this.runOrDescribe(plan, flags)
    if ('records' in run) {
      const {afterSwap} = await import('../src/cli/run/after-swap.js')
      for (const line of afterSwap(run, this.config.bin)) this.note(line)
    }
    return run
  }

  /** @param isFirst - it also has what the packaged model has learned */
  private async planOf(
    flags: SwapFlags,
    estimators: EstimatorFacts,
    isFirst: boolean,
  ): Promise<SwapPlan> {
    const {PACKAGED_TUNED, swapFiles} = await import('../src/cli/plans/swap-files.js')
    const {packagedFile} = await import('../src/inputs/packaged.js')
    const tuned = await tunedFile(isFirst ? {parameters: packagedFile(PACKAGED_TUNED)} : flags)
    this.caution(fewerDraws(flags.replicates, tuned))
    const files = await swapFiles(flags)
    for (const text of learnedElsewhere(tuned, files.facts)) this.caution(text)
    const plan = toSwapPlan(flags, files, estimators, tuned)
    const isSized = flags['max-texts'] !== undefined || flags['max-tokens'] !== undefined
    if (!flags.quick || isSized) return plan
    const read = quickRead(plan, files.facts, files.letters)
    this.caution(lessRead(plan, read))
    return {...plan, ...read}
  }
}
