import * as Args from '@oclif/core/args'
import {helpText, RfaCommand} from '../src/cli/base-command.js'
import {markdownFile, pluginFlag, present, toggle} from '../src/cli/flags.js'
import type {ReportDocument} from '../src/cli/json-documents.js'

export default class Report extends RfaCommand {
  static override summary = 'Print saved runs as tables and write them as Markdown'
  static override description = helpText(
    'Reads one or several run folders, prints their tables, and writes one Markdown file. A folder of rfa claims has its verdicts, or its figure.',
  )
  static override examples = [
    '<%= config.bin %> report results/error-sweep-20260101-120000',
    '<%= config.bin %> report results/wasm results/cpu --output comparison.md',
    '<%= config.bin %> report results/wasm --output -',
    '<%= config.bin %> report results/claims',
  ]
  static override args = {
    run: Args.string({
      required: true,
      multiple: true,
      description: 'folders of runs',
      parse: async text => present(text, 'report'),
    }),
  }
  static override flags = {
    output: markdownFile({
      char: 'o',
      description:
        'Markdown file (.md), - for stdout (default: report.md in the run; in the working directory for several runs)',
    }),
    force: toggle('replace a file that is no report of rfa'),
    plugin: pluginFlag(
      undefined,
      'tells whether runs with its estimators are complete; their records are read without',
    ),
  }

  async run() {
    const {args, flags} = await this.parse(Report)
    const {writeReport} = await import('../src/cli/write-report.js')
    const {readSaved, savedFacts, savedReport} = await import('../src/cli/read-saved.js')
    const {renderTerminal} = await import('../src/report/terminal.js')
    const saved = await readSaved(args.run, this.config.bin, this.services)
    const {experimentFlagNames} = await import('../src/cli/plans/flag-names.js')
    const blocks = this.withFlags(await savedReport(saved), experimentFlagNames())
    if (flags.output !== '-') this.print(renderTerminal(blocks, this.layout()))
    const output = await writeReport(blocks, args.run, flags, text => this.print(text))
    if (output !== null) this.note(`written to ${output}`)
    return {schema: 'rfa.report/1', output, ...(await savedFacts(saved))} satisfies ReportDocument
  }
}
