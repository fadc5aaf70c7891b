import {helpText, RfaCommand} from '../src/cli/base-command.js'
import {adviseFlags, toAdviceRequest} from '../src/cli/plans/advise.js'

export default class Advise extends RfaCommand {
  static override summary = 'Say whether to replace exact attention on your input, and by what'
  static override description = helpText(
    'Measures errors on queries, keys and values of a file and times on this machine, and takes the fastest method that errs no more than the tolerance and is faster than exact attention, both for certain; where there is none it says so, and what would change that. Each head is advised on for itself, too. Runs are ordinary ones of error-sweep and bench, in the folders error and time.',
  )
  static override examples = [
    '<%= config.bin %> advise --input qkv.safetensors --quick',
    '<%= config.bin %> advise --input qkv.safetensors --seq-len 8192 --tolerance 0.1 --causal',
    '<%= config.bin %> advise --input model.safetensors --layer 0,3 --methods favor-pos,lara --budget-ms 20',
  ]
  static override flags = adviseFlags

  async run() {
    const {flags} = await this.parse(Advise)
    const {adviceReport} = await import('../src/advice/report.js')
    const {asTyped, runAdvise} = await import('../src/cli/run-advise.js')
    const {renderTerminal} = await import('../src/report/terminal.js')
    const request = toAdviceRequest(flags)
    const document = await runAdvise(request, flags, {
      argv: [this.config.bin, this.id ?? '', ...this.argv],
      services: this.services,
      note: text => this.note(text),
      caution: text => this.caution(text),
    })
    const blocks = adviceReport(document, asTyped(this.config.bin, request))
    this.print(renderTerminal(blocks, this.layout()))
    this.note(`saved in ${document.directory}`)
    return document
  }
}
