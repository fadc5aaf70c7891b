import * as Args from '@oclif/core/args'
import {comparisonExit} from '../src/cli/compare/comparison-exit.js'
import {figureFlags} from '../src/cli/flags/figures.js'
import {nameList, oneText, present, toggle} from '../src/cli/flags/kinds.js'
import {detailsFlag, pluginFlag} from '../src/cli/flags/shared.js'
import {historyFailOnFlags, outputFlag} from '../src/cli/plans/compare.js'
import type {HistoryDocument} from '../src/cli/program/json-documents.js'
import {helpText, RfaCommand} from '../src/cli/run/base-command.js'
import {newestChanges} from '../src/compare/history.js'
import {QUANTITIES} from '../src/experiments/comparison.js'

export default class History extends RfaCommand {
  static override summary = 'Show cell by cell what each commit changed, over the runs of a folder'
  static override description = helpText(
    'Finds the runs of bench, error-sweep and variance below folders and prints for each cell a row per run, the newest first: commit, time, value with its 95 % interval, and the change against the run before that has the cell, by the rules of rfa compare. The first screen has the lines that the newest run changed most; --details and files have all. Times are compared on one machine only.',
    'With --fail-on it is a gate on the newest run of each experiment (of benchmarks, of each machine), with the exit codes of rfa compare.',
  )
  static override examples = [
    '<%= config.bin %> history results',
    '<%= config.bin %> history results --cell favor-pos --metric time --svg figures',
    '<%= config.bin %> history results --fail-on time:10%,error:5% --output history.csv',
  ]
  static override args = {
    folder: Args.string({
      required: true,
      multiple: true,
      description: 'folders with runs in them, at any depth',
      parse: async text => present(text, 'history'),
    }),
  }
  static override flags = {
    cell: oneText(
      'only lines that have all of these words, as tables have them: a value, or NAME=VALUE such as L=1024 (default: all)',
      {helpValue: 'WORDS'},
    ),
    metric: nameList({quantities: QUANTITIES})(
      `only these quantities: ${QUANTITIES.join(', ')} (default: all)`,
    ),
    ...historyFailOnFlags,
    details: detailsFlag,
    output: outputFlag,
    svg: figureFlags.svg,
    pdf: figureFlags.pdf,
    png: figureFlags.png,
    force: toggle('replace files that are not a history of rfa'),
    plugin: pluginFlag(
      'needed to see whether runs with its estimators are complete; their records are read without',
    ),
  }

  async run() {
    const {args, flags} = await this.parse(History)
    const {historyOf, writeHistory} = await import('../src/cli/compare/run-history.js')
    const {writeAllFigures} = await import('../src/cli/report/report-files.js')
    const {bin} = this.config
    const shown = await historyOf(args.folder, flags, {
      ...{bin, services: this.services, caution: text => this.caution(text)},
    })
    const onStdout = flags.output?.some(({path}) => path === '-') ?? false
    const printed = flags.details ? shown.blocks : shown.screen
    if (!onStdout) await this.printBlocks(this.withFlags(printed))
    const {pictures, ...figures} = await writeAllFigures(shown.figures, flags, this.invocation())
    const files = await writeHistory(shown, flags, text => this.print(text), [
      ...[bin, 'history', ...this.argv],
    ])
    for (const path of [...files, ...Object.values(figures).flat()]) {
      this.note(`written to ${path}`)
    }
    process.exitCode = comparisonExit({...shown.facts, rows: newestChanges(shown.facts)})
    return {schema: 'rfa.history/1', ...shown.facts} satisfies HistoryDocument
  }
}
