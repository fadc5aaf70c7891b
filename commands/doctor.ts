import {detailsFlag, pluginFlag} from '../src/cli/flags/shared.js'
import type {DoctorDocument} from '../src/cli/program/json-documents.js'
import {helpText, RfaCommand} from '../src/cli/run/base-command.js'

export default class Doctor extends RfaCommand {
  static override summary = 'Check which backends run here, and how to add the others'
  static override description = helpText(
    'Loads every backend and runs one small operation on it. Prints what works, how to get what is missing, and facts of this machine: its load, too, as timings on a busy machine are poor. The exit code is 0 even if backends are missing.',
  )
  static override examples = [
    '<%= config.bin %> doctor',
    '<%= config.bin %> doctor --json',
    '<%= config.bin %> doctor --plugin ./my-estimator.js',
  ]
  static override flags = {
    plugin: pluginFlag('says whether it loads, and if not, what is wrong'),
    details: detailsFlag,
  }

  /** Plug-ins that do not load are reported with the rest. */
  protected override async loadPlugins() {
    return this.plugins
  }

  async run() {
    const {flags} = await this.parse(Doctor)
    const {activityFacts} = await import('../src/cli/describe/diagnose.js')
    const {pythonFacts} = await import('../src/cli/program/python-facts.js')
    const {pluginReports} = await import('../src/cli/run/plugins.js')
    const {probeBackends} = await import('../src/backends/index.js')
    const {doctorReport, doctorScreen} = await import('../src/report/doctor.js')
    const diagnosis = {
      backends: await probeBackends(),
      machine: await this.services.machineFacts({timed: true}),
      activity: await activityFacts(),
      python: await pythonFacts(),
      plugins: await pluginReports(this.argv, process.env),
    }
    const blocks = flags.details ? doctorReport(diagnosis) : doctorScreen(diagnosis)
    await this.printBlocks(this.withFlags(blocks, ['backend']))
    return {schema: 'rfa.doctor/1', ...diagnosis} satisfies DoctorDocument
  }
}
