/** What runs on this machine, and what to do about what does not. */
import {join} from 'node:path'
import {z} from 'zod'
import type {BackendReport} from '../backends/types.js'
import {packageRoot} from '../package.js'
import {type Machine, machine} from '../results/manifest.js'
import {type Block, factTable, heading, list, table} from './document.js'
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

/** One plug-in, and whether it loads. */
const pluginReport = z.object({
  path: z.string().describe('As it was named.'),
  methods: z.array(z.string()).describe('Names of its estimators.'),
  sha256: z.string().nullable().describe('SHA-256 of the module; `null`: it does not load.'),
  reason: z.string().optional().describe('Why it does not load.'),
  remedy: z.string().optional().describe('What to do about it.'),
})
export type PluginReport = z.infer<typeof pluginReport>

/** What `rfa doctor` prints. */
export const diagnosisFacts = {
  backends: z.array(backendReport).describe('All backends, in the order of `--backend auto`.'),
  machine: machine.describe('Where this was found out.'),
  plugins: z.array(pluginReport).describe('Plug-ins that were named, or that RFA_PLUGINS names.'),
}
export type Diagnosis = z.infer<z.ZodObject<typeof diagnosisFacts>>

/** Blocks of a diagnosis: backends, remedies, plug-ins, machine, and where the package's script for models is. */
export function doctorReport({backends, machine, plugins}: Diagnosis): Block[] {
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
    ...pluginBlocks(plugins),
    heading(1, 'Machine'),
    factTable(machineRows(machine)),
    ...list([
      `q, k, v of your own PyTorch model: ${inPackage('python', 'rfa_export.py')} writes them, ${inPackage('docs', 'your-model.md')} tells how`,
    ]),
  ]
}

/** Plug-ins with their estimators, and what is wrong with the others; nothing where none was named. */
function pluginBlocks(plugins: readonly PluginReport[]): Block[] {
  if (plugins.length === 0) return []
  const faults = plugins.flatMap(({reason, remedy}) =>
    reason === undefined ? [] : [reason + (remedy === undefined ? '' : `; ${remedy}`)],
  )
  return [
    heading(1, 'Plug-ins'),
    table(
      [
        {title: 'plug-in', align: 'left', cell: ({path}) => path},
        {title: 'loads', align: 'left', cell: ({sha256}) => (sha256 === null ? 'no' : 'yes')},
        {
          title: 'estimators',
          align: 'left',
          flexible: true,
          cell: ({methods}) => methods.join(', ') || '-',
        },
      ],
      plugins,
    ),
    ...list(faults),
  ]
}

function inPackage(folder: string, file: string): string {
  return join(packageRoot(), folder, file)
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
