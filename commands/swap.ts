import {asksEstimators} from '../src/cli/plans/method-specs.js'
import {swapFlags, toSwapPlan} from '../src/cli/plans/swap.js'
import {fewerDraws, learnedElsewhere, tunedFile} from '../src/cli/plans/tuned.js'
import {helpText} from '../src/cli/run/base-command.js'
import {ExperimentCommand} from '../src/cli/run/experiment-command.js'

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
    if (saved) return this.runOrDescribe(saved, flags)
    const {PACKAGED_TUNED, swapFiles} = await import('../src/cli/plans/swap-files.js')
    const {packagedFile} = await import('../src/inputs/packaged.js')
    const isFirst = this.gridFlags(flags).join() === '--quick'
    const tuned = await tunedFile(isFirst ? {parameters: packagedFile(PACKAGED_TUNED)} : flags)
    this.caution(fewerDraws(flags.replicates, tuned))
    const files = await swapFiles({...flags, engine: flags.engine ?? 'auto'})
    for (const text of learnedElsewhere(tuned, files.facts)) this.caution(text)
    const plan = toSwapPlan(flags, files, estimators, tuned)
    return this.runOrDescribe(plan, flags)
  }
}
