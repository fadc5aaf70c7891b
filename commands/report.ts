import * as Args from '@oclif/core/args'
import {figureFlags} from '../src/cli/flags/figures.js'
import {htmlFile, markdownFile, present, toggle} from '../src/cli/flags/kinds.js'
import {detailsFlag, pluginFlag} from '../src/cli/flags/shared.js'
import type {ReportDocument} from '../src/cli/program/json-documents.js'
import {helpText, RfaCommand} from '../src/cli/run/base-command.js'
import type {ReportParts} from '../src/experiments/run-report.js'
import {chosenTables} from '../src/report/chosen.js'
import type {Block} from '../src/report/document.js'

export default class Report extends RfaCommand {
  static override summary =
    'Print what saved runs found, and write them as Markdown or as an HTML page'
  static override description = helpText(
    'Reads one or several run folders and prints what was found (with --details every table). It writes only what flags ask for: --output one Markdown file with all of it, --html one page for browsers, which needs no network: what was run and found, then every table. A folder of rfa claims has its verdicts, or its figure.',
  )
  static override examples = [
    '<%= config.bin %> report results/error-sweep-20260101-120000',
    '<%= config.bin %> report results/wasm results/cpu --output comparison.md',
    '<%= config.bin %> report results/wasm --output -',
    '<%= config.bin %> report results/claims --html report.html',
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
      aliases: ['markdown'],
      description: 'Markdown file (.md), - for stdout (default: none)',
    }),
    html: htmlFile({
      description: 'HTML page (.html), - for stdout; the tables are not printed then',
    }),
    ...figureFlags,
    details: detailsFlag,
    open: toggle('show the page of --html in the browser'),
    force: toggle('replace a file that is not a report of rfa'),
    plugin: pluginFlag(
      'needed to see whether runs with its estimators are complete; their records are read without',
    ),
  }

  async run() {
    const {args, flags} = await this.parse(Report)
    const {checkReportFlags, drawsFigures, placesOf, writeReportFiles} = await import(
      '../src/cli/report/report-files.js'
    )
    checkReportFlags(flags)
    const {foldersAmong, readSaved, savedFacts, savedReport} = await import(
      '../src/cli/report/read-saved.js'
    )
    const {experimentFlagNames} = await import('../src/cli/plans/flag-names.js')
    const {folders, files: others} = await foldersAmong(args.run)
    if (others.length > 0) this.note(`left out: no folders of runs: ${others.join(', ')}`)
    const saved = await readSaved(folders, this.config.bin, this.services)
    const reported = async (parts: ReportParts) =>
      this.withFlags(await savedReport(saved, {x: flags.x, ...parts}), experimentFlagNames())
    const blocks = await reported({figures: drawsFigures(flags) || flags.plot})
    const choose = (figures?: boolean) => flags.columns && chosenTables(blocks, {...flags, figures})
    const all = choose(flags.plot) ?? (flags.details ? blocks : undefined)
    const printed = all ?? (await reported({figures: flags.plot, details: false}))
    if (flags.output !== '-' && flags.html !== '-') await this.printTables(printed, flags)
    const files = await writeReportFiles({blocks, tables: printed, text: choose(), saved}, flags, {
      ...this.invocation(),
      print: text => this.print(text),
    })
    for (const place of placesOf(files)) this.note(`written to ${place}`)
    return {schema: 'rfa.report/1', ...files, ...(await savedFacts(saved))} satisfies ReportDocument
  }

  /** Layout of tables takes seconds where there are thousands of rows: only who reads them waits for it. */
  private async printTables(
    blocks: readonly Block[],
    {html, plot}: {html?: string | undefined; plot: boolean | undefined},
  ): Promise<void> {
    if (this.jsonEnabled() || (html !== undefined && !plot)) return
    const {firstFigures, NOTHING_TO_PLOT, plotForm, plotsAndTitles, plotter} = await import(
      '../src/cli/run/plots.js'
    )
    const form = plotForm(plot, process.stdout, process.env)
    if (!form) return this.printBlocks(blocks)
    const shown = firstFigures(blocks)
    if (!shown.some(({kind}) => kind === 'figure')) this.caution(NOTHING_TO_PLOT)
    const draw = await plotter(this.layout(), form)
    await this.printBlocks(html === undefined ? shown : plotsAndTitles(shown), draw)
  }
}
