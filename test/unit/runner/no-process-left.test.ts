/**
 * Whoever of a tree of processes is ended, and however, all others end, too: whatever a map in Python does meanwhile.
 * The map needs no NumPy but a stand-in with what `python/rfa_plugin.py` asks of it.
 */
import {spawn, spawnSync} from 'node:child_process'
import {once} from 'node:events'
import {existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs'
import {join, resolve} from 'node:path'
import {setTimeout as delay} from 'node:timers/promises'
import {describe, expect, it, onTestFinished} from 'vitest'
import {errorCode} from '../../../src/files.js'
import {temporaryFolder} from '../../helpers/folders.js'
import {processesWith} from '../../helpers/processes.js'

const PYTHON = process.env.RFA_PYTHON || 'python3'
const runs = process.platform === 'linux' && spawnSync(PYTHON, ['--version']).status === 0

const NUMPY = `float32 = "f"

class ndarray:
    def __init__(self, data, shape):
        self.data, self.shape, self.ndim = data, tuple(shape), len(shape)

    def reshape(self, shape):
        return ndarray(self.data, shape)

    def tobytes(self):
        return bytes(self.data)

def frombuffer(data, dtype):
    return ndarray(data, (len(data) // 4,))

def ascontiguousarray(array, dtype):
    return array
`

/** What maps do once a cell asks them, not before there is a run, by name; each of them goes on for ever. */
const MAPS = {
  spins: ['while True: pass'],
  'spins in C, with the lock of the interpreter': ['all(iter(int, 1))'],
  sleeps: ['time.sleep(1e6)'],
  'ignores signals': [
    'for name in (1, 2, 3, 15): signal.signal(name, signal.SIG_IGN)',
    'while True: pass',
  ],
  'starts processes': [
    'if os.fork() == 0: time.sleep(1e6)',
    'subprocess.Popen(["sleep", "1000000"])',
    'time.sleep(1e6)',
  ],
  'starts processes with sessions of their own': [
    'if os.fork() == 0: os.setsid(); time.sleep(1e6)',
    'subprocess.Popen(["sleep", "1000000"], start_new_session=True)',
    'time.sleep(1e6)',
  ],
  'starts threads': [
    'threading.Thread(target=time.sleep, args=(1e6,)).start()',
    'sys.exit("enough")',
  ],
  'closes files': ['os.closerange(0, 1024)', 'while True: pass'],
}
type MapName = keyof typeof MAPS

/** All at once, but for what ends it. */
const WORST = [
  ...MAPS['ignores signals'].slice(0, 1),
  ...MAPS['starts processes'].slice(0, -1),
  ...MAPS['starts processes with sessions of their own'].slice(0, -1),
  ...MAPS['starts threads'].slice(0, 1),
  ...MAPS['spins in C, with the lock of the interpreter'],
]

const folder = temporaryFolder()
let cases = 0

/** A run with a map, until the map is asked; it and all that come of it bear a mark. */
async function computing(acts: readonly string[], by: 'program' | 'caller', more: string[] = []) {
  const place = join(folder, String(cases++))
  mkdirSync(place)
  writeFileSync(join(place, 'numpy.py'), NUMPY)
  const lines = [
    'if os.path.exists("run/manifest.json") and x.shape[2] > 1:',
    '    open("there", "w").close()',
    ...acts.map(act => `    ${act}`),
  ]
  const body = [...lines, 'return x'].map(line => `    ${line}\n`).join('')
  const imports = 'import os, signal, subprocess, sys, threading, time\nimport numpy\n'
  writeFileSync(join(place, 'map.py'), `${imports}\ndef phi(x, projection):\n${body}`)
  const mark = `no-process-left:${place}:`
  const env = {
    ...process.env,
    ...{RFA_PYTHON: PYTHON, RFA_TEST_MARK: mark, PYTHONPATH: resolve('python')},
  }
  const flags = ['--plugin', 'map.py', '--methods', 'map', '--generator', 'gaussian']
  const sizes = ['--seq-len', '16', '--head-dim', '8', '--num-features', '8', '--replicates', '2']
  const argv = [
    'error-sweep',
    ...flags,
    ...sizes,
    '--targets',
    'raw',
    '--projections',
    'iid',
    '--backend',
    'cpu',
    '-o',
    'run',
    ...more,
  ]
  const call = `import rfa; rfa.error_sweep(plugin="map.py", methods="map", generator="gaussian", seq_len=16, head_dim=8, num_features=8, replicates=2, targets="raw", projections="iid", backend="cpu", output="run")`
  const command =
    by === 'program' ? [process.execPath, resolve('bin/run.js'), ...argv] : [PYTHON, '-c', call]
  const options = {cwd: place, env, stdio: 'ignore', detached: true} as const
  const child = spawn(command[0]!, command.slice(1), options)
  const ended = once(child, 'exit')
  const all = () => processesWith(mark).map(Number)
  onTestFinished(() => {
    for (const pid of all()) kill(pid)
  })
  const waits = () => child.exitCode === null && child.signalCode === null
  while (!existsSync(join(place, 'there')) && waits()) await delay(20)
  return {place, all, ended, pid: child.pid!}
}

/** Ends a process, unless it has ended meanwhile. */
function kill(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error
  }
}

type Run = Awaited<ReturnType<typeof computing>>

/** Waits until nobody bears the mark. */
async function vanished({all}: Run): Promise<void> {
  while (all().length > 0) await delay(50)
}

function wordsOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`)
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)$/m.exec(read(`/proc/${pid}/status`))?.[1])
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // it is gone
  }
}

const isMap = (pid: number) => wordsOf(pid).includes('rfa_plugin.py')

/** Who can be ended, and how it is found. */
const VICTIMS = {
  caller: ({pid}: Run) => pid,
  program: ({all}: Run) => all().find(pid => wordsOf(pid).includes('run.js')),
  worker: ({all}: Run) =>
    all().find(pid => wordsOf(pid).includes('worker.js') && keeps(all(), pid)),
  supervisor: (run: Run) => keeps(run.all(), VICTIMS.worker(run)!),
  map: (run: Run) => run.all().find(pid => isMap(pid) && parentOf(pid) === VICTIMS.supervisor(run)),
}
type Victim = keyof typeof VICTIMS

/** The Python that a worker has started, if it has. */
function keeps(all: readonly number[], worker: number): number | undefined {
  return all.find(pid => isMap(pid) && parentOf(pid) === worker)
}

/** Those that do not end by what a terminal sends to all: the map is asked to go on, or ends with its worker. */
async function end(acts: readonly string[], victim: Victim, signal: NodeJS.Signals): Promise<Run> {
  const run = await computing(acts, victim === 'caller' ? 'caller' : 'program')
  const pid = VICTIMS[victim](run)
  expect(pid, victim).toBeGreaterThan(0)
  process.kill(pid!, signal)
  await vanished(run)
  return run
}

/** What became of the cell. */
function errorIn({place}: Run): {code: string; message: string} {
  return JSON.parse(readFileSync(join(place, 'run', 'records.jsonl'), 'utf8')).error
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGKILL'] as const
const ENDLESS = (Object.keys(MAPS) as MapName[]).filter(
  name => name !== 'starts threads' && name !== 'closes files',
)

describe.runIf(runs).concurrent('no process stays', () => {
  for (const signal of SIGNALS) {
    it(`when the program gets ${signal}`, () => end(WORST, 'program', signal))
    it(`when the Python that called gets ${signal}`, () => end(WORST, 'caller', signal))
  }

  for (const victim of ['program', 'worker', 'supervisor', 'map'] as const) {
    // nobody but the supervisor finds those with sessions of their own
    const ended = ENDLESS.filter(name => victim !== 'supervisor' || !name.includes('sessions'))
    it.each(ended)(`when the ${victim} is killed, and a map %s`, async name => {
      const run = await end(MAPS[name], victim, 'SIGKILL')
      if (victim !== 'program') expect(await run.ended).toEqual([4, null])
      if (victim === 'worker') expect(errorIn(run).code).toBe('CELL_CRASHED')
      if (victim === 'map') {
        expect(errorIn(run)).toMatchObject({
          code: 'PLUGIN_FAILED',
          message: expect.stringContaining('Python ended: (SIGKILL)'),
        })
      }
    })
  }

  it.each(['SIGTERM', 'SIGHUP', 'SIGQUIT'] as const)('when a map gets %s', async signal => {
    expect(errorIn(await end(MAPS.spins, 'map', signal)).message).toContain(`(${signal})`)
  })

  it('when a worker gets SIGQUIT', () => end(WORST, 'worker', 'SIGQUIT'))

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const)(
    'when the whole group gets %s',
    async signal => {
      const run = await computing(WORST, 'program')
      process.kill(-run.pid, signal)
      await vanished(run)
    },
  )

  it('when every process gets SIGTERM', async () => {
    const run = await computing(WORST, 'program')
    for (const pid of run.all()) kill(pid, 'SIGTERM')
    await vanished(run)
  })

  it.each(ENDLESS)('when a cell takes too long, and a map %s', async name => {
    const run = await computing(MAPS[name], 'program', ['--timeout', '10'])
    expect(await run.ended).toEqual([4, null])
    expect(run.all()).toEqual([])
    expect(errorIn(run).code).toBe('CELL_TIMEOUT')
  })

  it.each([
    ['starts threads', /SystemExit: enough \(.*map\.py:\d+\)/],
    ['closes files', /Python ended/],
  ] as const)('when a map %s, and ends', async (name, message) => {
    const acts = name === 'closes files' ? ['os.closerange(0, 1024)'] : MAPS[name]
    const run = await computing(acts, 'program')
    expect(await run.ended).toEqual([4, null])
    expect(run.all()).toEqual([])
    expect(errorIn(run)).toEqual({code: 'PLUGIN_FAILED', message: expect.stringMatching(message)})
  })

  it.each([
    ['forks, and ends itself', ['os.fork() and os._exit(3)'], /Python ended/],
    ['raises KeyboardInterrupt', ['raise KeyboardInterrupt("stop")'], /KeyboardInterrupt: stop/],
    ['aborts', ['os.abort()'], /Python ended: .*\(SIGABRT\)/],
    [
      'writes into all files',
      ['for n in range(3, 1024):', '    try: os.write(n, b"x\\n")', '    except OSError: pass'],
      /Python gave an answer that is none/,
    ],
    ['says a lot', ['raise ValueError("x" * 10**6)'], /ValueError: x{1,500}… \(.*map\.py:\d+\)/],
  ])('when a map %s', async (_, acts, message) => {
    const run = await computing(acts, 'program')
    expect(await run.ended).toEqual([4, null])
    expect(run.all()).toEqual([])
    expect(errorIn(run)).toEqual({code: 'PLUGIN_FAILED', message: expect.stringMatching(message)})
  })

  it.each([
    ['prints', ['print("hello")', 'os.write(1, b"raw")', 'os.system("echo shell")']],
    ['reads', ['assert sys.stdin.read() == "" and os.read(0, 1) == b""']],
    ['complains without end', ['os.write(2, b"x" * 10**8)']],
    ['leaves processes', MAPS['starts processes with sessions of their own'].slice(0, -1)],
    ['leaves a thread', MAPS['starts threads'].slice(0, 1)],
    ['closes its standard files', ['os.closerange(0, 3)']],
  ])('when a map %s, and does its work', async (_, acts) => {
    const run = await computing(acts, 'program')
    expect(await run.ended).toEqual([0, null])
    expect(run.all()).toEqual([])
    expect(readdirSync(run.place)).toContain('run')
  })
})
