import {helpText, RfaCommand} from '../src/cli/base-command.js'
import {asFlags} from '../src/cli/error-report.js'
import type {DoctorDocument} from '../src/cli/json-documents.js'

export default class Doctor extends RfaCommand {
  static override summary = 'Tell which backends run here, and what to do about the others'
  static override description = helpText(
    'Loads every backend, runs one small operation on it, and prints what it found together with the facts of this machine. Missing backends are no error: the exit code is 0.',
  )
  static override examples = ['<%= config.bin %> doctor', '<%= config.bin %> doctor --json']

  async run() {
    await this.parse(Doctor)
    const {probeBackends} = await import('../src/backends/index.js')
    const {doctorReport} = await import('../src/report/doctor.js')
    const {renderTerminal} = await import('../src/report/terminal.js')
    const diagnosis = {
      backends: await probeBackends(),
      machine: await this.services.machineFacts({timed: true}),
    }
    const text = renderTerminal(doctorReport(diagnosis), this.layout())
    this.print(asFlags(text, ['backend']))
    return {schema: 'rfa.doctor/1', ...diagnosis} satisfies DoctorDocument
  }
}
