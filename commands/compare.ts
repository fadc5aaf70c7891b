import * as Args from '@oclif/core/args'
import {comparisonExit} from '../src/cli/compare/comparison-exit.js'
import {present, toggle} from '../src/cli/flags/kinds.js'
import {detailsFlag, pluginFlag} from '../src/cli/flags/shared.js'
import {failOnFlags, outputFlag, twoMethods} from '../src/cli/plans/compare.js'
import type {ComparisonDocument} from '../src/cli/program/json-documents.js'
import {helpText, RfaCommand} from '../src/cli/run/base-command.js'

export default class Compare extends RfaCommand {
  static override summary = 'Compare two saved runs, or two methods of one'
  static override description = helpText(
    'Matches the cells of two runs of bench, error-sweep or variance by what they measure and prints how many lines differ and which differ most; with --details, and in files, line by line a ratio with a 95 % interval, a p-value adjusted for all lines, and the chance that a value of B exceeds one of A. Replicates of the same draws are compared in pairs, cells of one benchmark process by process. What has no partner is named, and so is what else differs between the runs.',
    'With --fail-on it is a gate: it ends with exit code 1 if the lower end of an interval is beyond a limit, with 5 if no line could be judged. By chance a limit is exceeded in about 2.5 % of lines with a true ratio at it, and far less often if nothing changed (docs/compare.md).',
  )
  static override usage = [
    'compare A B [--fail-on LIMITS] [--strict] [--output FILE]',
    'compare RUN --methods A,B [--fail-on LIMITS] [--output FILE]',
  ]
  static override examples = [
    '<%= config.bin %> compare results/before results/after',
    '<%= config.bin %> compare results/before results/after --fail-on time:10%,memory:0%',
    '<%= config.bin %> compare results/sweep --methods favor-pos,rfa --output comparison.md',
  ]
  static override args = {
    run: Args.string({
      required: true,
      multiple: true,
      description: 'folders of runs: the base A, then B; or one with --methods',
      parse: async text => present(text, 'compare'),
    }),
  }
  static override flags = {
    methods: twoMethods({
      description:
        'two methods of one run, the base first, as the tables name them: favor-pos, or with its options "rfa (tau=0.5)"',
    }),
    ...failOnFlags,
    details: detailsFlag,
    output: outputFlag,
    force: toggle('replace files that are not a comparison of rfa'),
    plugin: pluginFlag(
      'needed to see whether runs with its estimators are complete; their records are compared without',
    ),
  }

  async run() {
    const {args, flags} = await this.parse(Compare)
    const {compareSaved, writeComparison} = await import('../src/cli/compare/run-compare.js')
    const {bin} = this.config
    const compared = await compareSaved(args.run, flags, {bin, services: this.services})
    const onStdout = flags.output?.some(({path}) => path === '-') ?? false
    const printed = flags.details ? compared.blocks : compared.screen()
    if (!onStdout) await this.printBlocks(this.withFlags(printed))
    const written = await writeComparison(compared, flags, text => this.print(text), [
      this.config.bin,
      'compare',
      ...this.argv,
    ])
    for (const path of written) this.note(`written to ${path}`)
    process.exitCode = comparisonExit(compared.facts)
    return {schema: 'rfa.comparison/1', ...compared.facts} satisfies ComparisonDocument
  }
}
