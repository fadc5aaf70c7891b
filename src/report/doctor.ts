/** What runs on this machine, and what to do about what does not. */
import {z} from 'zod'
import type {BackendReport} from '../backends/types.js'
import {type Machine, machine} from '../results/manifest.js'
import {type Block, heading, list, table} from './document.js'
import {bytes} from './numbers.js'

/** One backend, and whether it runs here. */
const backendReport: z.ZodType<BackendReport> = z.object({
  name: z.string().describe('As `--backend` takes it.'),
  available: z.boolean().describe('It computes here.'),
  detail: z.string().describe('What it is, with versions.'),
  reason: z.string().optional().describe('Why it is not available.'),
  remedy: z.string().optional().describe('What to do about it.'),
  absent: z.boolean().optional().describe('Switched off or never built.'),
})

/** What `rfa doctor` prints. */
export const diagnosisFacts = {
  backends: z.array(backendReport).describe('All backends, in the order of `--backend auto`.'),
  machine: machine.describe('Where this was found out.'),
}
export type Diagnosis = z.infer<z.ZodObject<typeof diagnosisFacts>>

/** Blocks of a diagnosis: backends, remedies, machine. */
export function doctorReport({backends, machine}: Diagnosis): Block[] {
  const remedies = backends
    .filter(({available}) => !available)
    .map(({name, reason, remedy}) =>
      [`${name}: ${reason ?? 'not available'}`, ...(remedy ? [remedy] : [])].join('; '),
    )
  return [
    heading(1, 'Backends, in the order of --backend auto'),
    table(
      [
        {title: 'backend', align: 'left', cell: ({name}) => name},
        {title: 'available', align: 'left', cell: ({available}) => (available ? 'yes' : 'no')},
        {title: 'detail', align: 'left', flexible: true, cell: ({detail}) => detail},
      ],
      backends,
    ),
    ...list(remedies),
    heading(1, 'Machine'),
    table(
      [
        {title: 'fact', align: 'left', cell: ([name]) => name},
        {title: 'value', align: 'left', flexible: true, cell: ([, value]) => value},
      ],
      machineRows(machine),
    ),
  ]
}

/** The facts of a machine as name and value. */
export function machineRows(machine: Machine): [string, string][] {
  return [
    ['cpu', machine.cpu],
    ['cores', `${machine.logical_cores}, usable ${machine.available_parallelism}`],
    ['memory', bytes(machine.memory_bytes)],
    ['platform', `${machine.platform} ${machine.arch}`],
    ['node', machine.node],
    ['rfa', `${machine.rfa}${machine.commit ? ` (${machine.commit})` : ''}`],
    ['tfjs', machine.tfjs],
  ]
}
