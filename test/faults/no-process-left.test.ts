/**
 * Whoever of a tree of processes is ended, and however, all others end, too: whatever a map in Python does meanwhile.
 * The map needs no NumPy but a stand-in with what `python/rfa_plugin.py` asks of it.
 */
import {spawn, spawnSync} from 'node:child_process'
import {once} from 'node:events'
import {existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs'
import {join, resolve} from 'node:path'
import {setTimeout as delay} from 'node:timers/promises'
import {afterAll, describe, expect, it, type TestContext} from 'vitest'
import {errorCode} from '../../src/files.js'
import {temporaryFolder} from '../helpers/folders.js'
import {processesWith} from '../helpers/processes.js'

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

/** Nothing that a signal, an exception or another thread of Python gets through to. */
const SPINS_IN_C = 'any(iter(int, 1))'
const SESSIONS = [
  'if os.fork() == 0: os.setsid(); time.sleep(1e6)',
  'subprocess.Popen(["sleep", "1000000"], start_new_session=True)',
]
const THREAD = 'threading.Thread(target=time.sleep, args=(1e6,)).start()'

/** What maps do once a cell asks them, not before there is a run: it goes on for ever. */
const SLEEPS = ['time.sleep(1e6)']
const SPINS = ['while True: pass']
/** Ignores signals, starts processes and threads, and holds the lock of the interpreter. */
const BAD = [
  'for name in (1, 2, 3, 15): signal.signal(name, signal.SIG_IGN)',
  'if os.fork() == 0: time.sleep(1e6)',
  'subprocess.Popen(["sleep", "1000000"])',
  THREAD,
  SPINS_IN_C,
]
/** The same with processes in sessions of their own. */
const WORST = [...SESSIONS, ...BAD]

const folder = temporaryFolder()
let cases = 0
const MARK = `no-process-left:${folder}/`

/** Ends all that bears a mark once nobody holds its stdin: also where these tests are killed. */
const GUARD = `import glob, os, signal, sys
def marked(path):
    try:
        return sys.argv[1].encode() in open(path, "rb").read()
    except OSError:
        return False
sys.stdin.read()
while found := [path for path in glob.glob("/proc/[0-9]*/environ") if marked(path)]:
    for path in found:
        try:
            os.kill(int(path.split("/")[2]), signal.SIGKILL)
        except OSError:
            pass
`
const guard = runs
  ? spawn(PYTHON, ['-c', GUARD, MARK], {stdio: ['pipe', 'ignore', 'ignore'], detached: true})
  : undefined
afterAll(async () => {
  if (!guard) return
  const gone = once(guard, 'exit')
  guard.stdin!.end()
  await gone
})

/** A run with a map, until the map is asked; it and all that come of it bear a mark. */
async function computing(
  {onTestFinished}: TestContext,
  acts: readonly string[],
  {by = 'program', more = []}: {by?: 'program' | 'caller'; more?: readonly string[]} = {},
) {
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
  'second supervisor': (run: Run) => keeps(run.all(), VICTIMS.supervisor(run)!),
  map: (run: Run) => keeps(run.all(), VICTIMS['second supervisor'](run)!),
}
type Victim = keyof typeof VICTIMS

/** The Python that a process has started, if it has. */
function keeps(all: readonly number[], parent: number): number | undefined {
  return all.find(pid => isMap(pid) && parentOf(pid) === parent)
}

/** Ends one process of a run, and waits until all have ended. */
async function end(
  context: TestContext,
  acts: readonly string[],
  victim: Victim,
  signal: NodeJS.Signals,
): Promise<Run> {
  const run = await computing(context, acts, {by: victim === 'caller' ? 'caller' : 'program'})
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

describe.runIf(runs).concurrent('no process stays', () => {
  for (const signal of SIGNALS) {
    it(`when the program gets ${signal}`, context => end(context, WORST, 'program', signal))
    it(`when the Python that called gets ${signal}`, context =>
      end(context, WORST, 'caller', signal))
  }

  it.for([
    ['worker', 'sleeps', SLEEPS, /./],
    ['worker', 'does its worst', WORST, /./],
    ['supervisor', 'sleeps', SLEEPS, /Python ended/],
    ['supervisor', 'does its worst', WORST, /Python ended/],
    ['second supervisor', 'sleeps', SLEEPS, /Python ended/],
    ['second supervisor', 'does its worst', WORST, /Python ended/],
    ['map', 'sleeps', SLEEPS, /Python ended: \(SIGKILL\)/],
    ['map', 'does its worst', WORST, /Python ended: \(SIGKILL\)/],
  ] as const)('when the %s is killed, and a map %s', async ([victim, , acts, message], context) => {
    const run = await end(context, acts, victim, 'SIGKILL')
    expect(await run.ended).toEqual([4, null])
    const code = victim === 'worker' ? 'CELL_CRASHED' : 'PLUGIN_FAILED'
    expect(errorIn(run)).toEqual({code, message: expect.stringMatching(message)})
  })

  it.for(['SIGTERM', 'SIGQUIT'] as const)('when a map gets %s', async (signal, context) => {
    expect(errorIn(await end(context, SPINS, 'map', signal)).message).toContain(`(${signal})`)
  })

  it('when a worker gets SIGQUIT', context => end(context, WORST, 'worker', 'SIGQUIT'))

  it.for(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const)(
    'when the whole group gets %s',
    async (signal, context) => {
      const run = await computing(context, WORST)
      process.kill(-run.pid, signal)
      await vanished(run)
    },
  )

  it('when every process gets SIGTERM', async context => {
    const run = await computing(context, WORST)
    for (const pid of run.all()) kill(pid, 'SIGTERM')
    await vanished(run)
  })

  it.for([
    ['sleeps', SLEEPS],
    ['does its worst', WORST],
    ['stops its supervisor', ['os.kill(os.getppid(), signal.SIGSTOP)', ...SLEEPS]],
  ] as const)('when a cell takes too long, and a map %s', async ([, acts], context) => {
    const run = await computing(context, acts, {more: ['--timeout', '10']})
    expect(await run.ended).toEqual([4, null])
    expect(run.all()).toEqual([])
    expect(errorIn(run).code).toBe('CELL_TIMEOUT')
  })

  it.for([
    [
      'starts a thread, and exits',
      [THREAD, 'sys.exit("enough")'],
      /SystemExit: enough \(.*map\.py:\d+\)/,
    ],
    ['closes all files', ['os.closerange(0, 1024)'], /Python ended/],
    ['forks, and ends itself', ['os.fork() and os._exit(3)'], /Python ended/],
    ['raises KeyboardInterrupt', ['raise KeyboardInterrupt("stop")'], /KeyboardInterrupt: stop/],
    ['aborts', ['os.abort()'], /Python ended: .*\(SIGABRT\)/],
    [
      'writes into all files',
      ['for n in range(3, 1024):', '    try: os.write(n, b"x\\n")', '    except OSError: pass'],
      /Python gave an answer that is none/,
    ],
    ['says a lot', ['raise ValueError("x" * 10**6)'], /ValueError: x{1,500}… \(.*map\.py:\d+\)/],
  ] as const)('when a map %s', async ([, acts, message], context) => {
    const run = await computing(context, acts)
    expect(await run.ended).toEqual([4, null])
    expect(run.all()).toEqual([])
    expect(errorIn(run)).toEqual({code: 'PLUGIN_FAILED', message: expect.stringMatching(message)})
  })

  it.for([
    [
      'prints and reads',
      [
        'print("hello")',
        'os.write(1, b"raw")',
        'os.system("echo shell")',
        'assert sys.stdin.read() == "" and os.read(0, 1) == b""',
      ],
    ],
    ['complains without end', ['os.write(2, b"x" * 10**8)']],
    ['leaves processes and a thread', [...SESSIONS, THREAD]],
    ['closes its standard files', ['os.closerange(0, 3)']],
  ] as const)('when a map %s, and does its work', async ([, acts], context) => {
    const run = await computing(context, acts)
    expect(await run.ended).toEqual([0, null])
    expect(run.all()).toEqual([])
    expect(readdirSync(run.place)).toContain('run')
  })
})
