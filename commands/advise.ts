import type {AdviceRequest} from '../src/advice/plans.js'
import {adviseFlags, type ModelAdviseFlags, toAdviceRequest} from '../src/cli/plans/advise.js'
import {withCausal} from '../src/cli/plans/input-spec.js'
import {tunedFile} from '../src/cli/plans/tuned.js'
import {EXIT_CELLS_FAILED, EXIT_UNDECIDED} from '../src/cli/program/exit-codes.js'
import type {AdviceForecast, ModelAdviceDocument} from '../src/cli/program/json-documents.js'
import {helpText, RfaCommand} from '../src/cli/run/base-command.js'
import type {Block} from '../src/report/document.js'

export default class Advise extends RfaCommand {
  static override summary = 'Say whether to replace exact attention on your input, and by what'
  static override description = helpText(
    'Measures errors on your queries, keys and values and times on this machine. Recommends the fastest method that is within the tolerance, better than averaging V and faster than exact attention, each beyond the 95 % interval. If there is none, it says what would change that. Each head gets its own advice, too. The runs are ordinary runs of error-sweep and bench, in the folders error, time and norms.',
    'With --model it runs a pretrained model instead: for each method it searches the largest set of layers that keeps the budget of loss, and recommends the one with which the model is fastest, beyond the 95 % interval. Its runs are of swap and bench --model.',
  )
  static override examples = [
    '<%= config.bin %> advise --input qkv.safetensors --quick',
    '<%= config.bin %> advise --input qkv.safetensors --seq-len 8192 --tolerance 10% --causal',
    '<%= config.bin %> advise --model ./all-MiniLM-L6-v2 --texts texts.txt --budget 0.05 --seq-len 512',
    '<%= config.bin %> advise --input model.safetensors --layer 0,3 --methods favor-pos,lara --budget-ms 20',
    '<%= config.bin %> advise --input qkv.safetensors --parameters tuned.safetensors --tolerance 50%',
  ]
  static override flags = adviseFlags

  async run() {
    const {flags} = await this.parse(Advise)
    if (flags.model !== undefined) return this.adviseModel(flags)
    const request = toAdviceRequest(await withCausal(flags), await tunedFile(flags))
    if (flags['dry-run']) return this.forecast(request)
    const {asTyped, closingLine, runAdvise} = await import('../src/cli/advise/run-advise.js')
    const {document, failure} = await runAdvise(request, flags, this.invocation())
    await this.show(
      flags.details
        ? (await import('../src/advice/report.js')).adviceReport(
            document,
            asTyped(this.config.bin, request),
          )
        : (await import('../src/advice/screen.js')).adviceScreen(document),
    )
    this.note(closingLine(this.config.bin, document))
    this.caution(failure)
    if (failure !== undefined) process.exitCode = EXIT_CELLS_FAILED
    return document
  }

  private async adviseModel(
    flags: ModelAdviseFlags & {quiet: boolean},
  ): Promise<ModelAdviceDocument> {
    const {closingLine} = await import('../src/cli/advise/run-advise.js')
    const {nextCommand, runModelAdvise} = await import('../src/cli/advise/run-model-advise.js')
    const {loadEstimators} = await import('../src/attention/names.js')
    const {document, failure} = await runModelAdvise(
      flags,
      await loadEstimators(),
      this.invocation(),
    )
    const {modelAdviceBlocks} = await import('../src/advice/model/screen.js')
    await this.show(modelAdviceBlocks(document, flags.details))
    this.note(closingLine(this.config.bin, document, 'every candidate'))
    const next = nextCommand(this.config.bin, flags, document)
    if (next) this.note(next)
    this.caution(failure)
    if (document.obstacle === 'untimed') process.exitCode = EXIT_UNDECIDED
    if (failure !== undefined) process.exitCode = EXIT_CELLS_FAILED
    return document
  }

  private async forecast(request: AdviceRequest): Promise<AdviceForecast> {
    const {forecastOf, forecastReport} = await import('../src/cli/advise/run-advise.js')
    const forecast = await forecastOf(request, this.invocation())
    await this.show(forecastReport(forecast))
    return forecast
  }

  private async show(blocks: readonly Block[]): Promise<void> {
    const {renderTerminal} = await import('../src/report/terminal.js')
    this.print(renderTerminal(blocks, this.layout()))
  }
}
