import * as Args from '@oclif/core/args'
import {oneText, present, toggle, ungrouped} from '../src/cli/flags/kinds.js'
import {detailsFlag, pluginFlag, runFlags} from '../src/cli/flags/shared.js'
import {EXIT_CELLS_FAILED} from '../src/cli/program/exit-codes.js'
import {helpText, RfaCommand} from '../src/cli/run/base-command.js'

export default class Merge extends RfaCommand {
  static override summary = 'Join the shards of a run'
  static override description = helpText(
    'Joins folders that were made with --shard into the folder of one run, which is then as if one machine had run the whole plan, times aside: rfa report, rfa compare and --resume take it. Shards of several plans, versions or, for a benchmark, kinds of processors are refused; cells without a record are named, with the commands that run them.',
  )
  static override examples = [
    '<%= config.bin %> merge results/sweep/shard-1 results/sweep/shard-2 --output results/sweep/merged',
    '<%= config.bin %> merge results/one results/two --output results/both --partial',
  ]
  static override args = {
    run: Args.string({
      required: true,
      multiple: true,
      description: 'folders of shards',
      parse: async text => present(text, 'merge'),
    }),
  }
  static override flags = {
    output: oneText(
      'folder of the merged run, new or empty (default: results/<command>-<date>-<time>)',
      {char: 'o', helpValue: 'DIR'},
    ),
    partial: toggle(
      'join what is there, though cells are missing: --resume with the merged folder runs them; exit code 4',
    ),
    format: ungrouped(runFlags.format),
    details: detailsFlag,
    samples: toggle('write every single time of a benchmark as records_samples.csv, too'),
    plugin: pluginFlag('for a plan with its estimators, which is a program'),
  }

  protected override async recordedPlugins() {
    const {args} = await this.parse(Merge)
    const {recordedInRun} = await import('../src/cli/run/plugins.js')
    return recordedInRun(args.run[0]!, this.services)
  }

  async run() {
    const {args, flags} = await this.parse(Merge)
    const {mergeFolders} = await import('../src/cli/run/run-merge.js')
    const {experimentNamed} = await import('../src/experiments/index.js')
    const {experimentFlagNames} = await import('../src/cli/plans/flag-names.js')
    const {printedReport} = await import('../src/experiments/experiment.js')
    const merging = {...flags, plugins: this.plugins}
    const {run, closing, missing, fault} = await mergeFolders(args.run, merging, this.invocation())
    const experiment = await experimentNamed(run.manifest.plan.experiment)
    const report = await printedReport(experiment, run.records, flags.details)
    const blocks = this.withFlags(report, experimentFlagNames())
    await this.printBlocks(blocks)
    for (const line of closing) this.note(line)
    if (run.counts.failed > 0 || missing > 0) process.exitCode = EXIT_CELLS_FAILED
    if (fault) this.complain(fault)
    return run
  }
}
