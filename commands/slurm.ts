import * as Args from '@oclif/core/args'
import {helpText, RfaCommand} from '../src/cli/base-command.js'
import {present} from '../src/cli/flag-kinds.js'
import {slurmFlags} from '../src/cli/plans/slurm.js'

export default class Slurm extends RfaCommand {
  static override summary = 'Write a plan as jobs for Slurm'
  static override description = helpText(
    'Writes an array whose tasks run the shards of a plan, a merge that waits for them, and submit.sh, which submits both; with --submit it does that. A task that is killed, requeued or submitted again goes on where it was. The plan is one that error-sweep, bench or variance has printed under --dry-run --json; its input files must be where all nodes see them.',
  )
  static override examples = [
    '<%= config.bin %> slurm plan.json --shards 64 --cpus 4 --time 02:00:00 --output results/sweep',
    '<%= config.bin %> slurm plan.json --shards 200 --at-once 20 --partition long --sbatch=--account=physics --submit',
  ]
  static override args = {
    plan: Args.string({
      required: true,
      description: 'file with a plan',
      parse: async text => present(text, 'slurm'),
    }),
  }
  static override flags = slurmFlags

  async run() {
    const {args, flags} = await this.parse(Slurm)
    const {readPlanFile} = await import('../src/cli/plan-file.js')
    const {slurmReport, writeSlurmJob} = await import('../src/cli/run-slurm.js')
    const {renderTerminal} = await import('../src/report/terminal.js')
    const job = await writeSlurmJob(await readPlanFile(args.plan), flags, this.invocation())
    this.print(renderTerminal(slurmReport(job), this.layout()))
    return job
  }
}
