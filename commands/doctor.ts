import {pluginFlag} from '../src/cli/flags/shared.js'
import {asFlags} from '../src/cli/program/error-report.js'
import type {DoctorDocument} from '../src/cli/program/json-documents.js'
import {helpText, RfaCommand} from '../src/cli/run/base-command.js'

export default class Doctor extends RfaCommand {
  static override summary = 'Tell which backends run here, and what to do about the others'
  static override description = helpText(
    'Loads every backend, runs one small operation on it, and prints what it found together with the facts of this machine. Missing backends are no error: the exit code is 0.',
  )
  static override examples = [
    '<%= config.bin %> doctor',
    '<%= config.bin %> doctor --json',
    '<%= config.bin %> doctor --plugin ./my-estimator.js',
  ]
  static override flags = {
    plugin: pluginFlag(undefined, 'tells whether it loads, and what is wrong where it does not'),
  }

  /** What does not load is told with the rest. */
  protected override async loadPlugins() {
    return this.plugins
  }

  async run() {
    await this.parse(Doctor)
    const {pluginReports} = await import('../src/cli/run/plugins.js')
    const {probeBackends} = await import('../src/backends/index.js')
    const {doctorReport} = await import('../src/report/doctor.js')
    const {renderTerminal} = await import('../src/report/terminal.js')
    const diagnosis = {
      backends: await probeBackends(),
      machine: await this.services.machineFacts({timed: true}),
      plugins: await pluginReports(this.argv, process.env),
    }
    const text = renderTerminal(doctorReport(diagnosis), this.layout())
    this.print(asFlags(text, ['backend']))
    return {schema: 'rfa.doctor/1', ...diagnosis} satisfies DoctorDocument
  }
}
