import {adviseFlags, toAdviceRequest} from '../src/cli/plans/advise.js'
import {withCausal} from '../src/cli/plans/input-spec.js'
import {EXIT_CELLS_FAILED} from '../src/cli/program/exit-codes.js'
import {helpText, RfaCommand} from '../src/cli/run/base-command.js'

export default class Advise extends RfaCommand {
  static override summary = 'Say whether to replace exact attention on your input, and by what'
  static override description = helpText(
    'Measures errors on queries, keys and values of a file and times on this machine, and takes the fastest method that is within the tolerance, better than averaging V and faster than exact attention, all for certain. Where there is none it says so, and what would change that. Each head is advised on for itself, too. Runs are ordinary ones of error-sweep and bench, in the folders error, time and norms.',
  )
  static override examples = [
    '<%= config.bin %> advise --input qkv.safetensors --quick',
    '<%= config.bin %> advise --input qkv.safetensors --seq-len 8192 --tolerance 10% --causal',
    '<%= config.bin %> advise --input model.safetensors --layer 0,3 --methods favor-pos,lara --budget-ms 20',
  ]
  static override flags = adviseFlags

  async run() {
    const {flags} = await this.parse(Advise)
    const {adviceReport} = await import('../src/advice/report.js')
    const {asTyped, closingLine, runAdvise} = await import('../src/cli/advise/run-advise.js')
    const {renderTerminal} = await import('../src/report/terminal.js')
    const request = toAdviceRequest(await withCausal(flags))
    const {document, failure} = await runAdvise(request, flags, this.invocation())
    const view = {typed: asTyped(this.config.bin, request), brief: true}
    this.print(renderTerminal(adviceReport(document, view), this.layout()))
    this.note(closingLine(this.config.bin, document))
    this.caution(failure)
    if (failure !== undefined) process.exitCode = EXIT_CELLS_FAILED
    return document
  }
}
