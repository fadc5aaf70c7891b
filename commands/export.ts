import {exportFlags, toExportRequest} from '../src/cli/plans/export.js'
import {helpText, RfaCommand} from '../src/cli/run/base-command.js'

export default class Export extends RfaCommand {
  static override summary = 'Write q, k and v of the layers of a model into files'
  static override description = helpText(
    'Runs a pretrained model on texts and writes what the attention of each layer reads, positions included, to one file for each layer. error-sweep, inputs, advise, bench and tune take these files as their input. Models of the kinds that swap --engine native runs need no Python; others are run by Transformers.',
  )
  static override examples = [
    '<%= config.bin %> export --output out',
    '<%= config.bin %> export --model ./all-MiniLM-L6-v2 --texts texts.txt --layer 0,5 --output out',
  ]
  static override flags = exportFlags

  async run() {
    const {flags} = await this.parse(Export)
    const {writtenLayers} = await import('../src/export/report.js')
    const record = await this.services.exportLayers(await toExportRequest(flags), {
      note: text => this.note(text),
      onLayer: ({path}) => this.note(`wrote ${path}`),
    })
    this.note(writtenLayers(this.config.bin, record))
    return record
  }
}
