/** The report as text. */
import Table from 'cli-table3'

/** Load average from which figures are to be doubted. */
const BUSY = 1

const print = text => process.stdout.write(`${text}\n`)

export function printTable({machine, runtime, torch, load_average: load, kernels, ...rest}) {
  print(`${machine.cpu}, ${runtime.isa}, ${runtime.build} build by ${runtime.compiler}, one thread`)
  print(torch ? `PyTorch ${torch.torch}, ${torch.threads} thread` : 'PyTorch: not installed')
  if (torch && torch.processors_used > torch.threads + 0.1) {
    print(
      `PyTorch's products used ${torch.processors_used} processors: its times are not those of one.`,
    )
  }
  print('Times are the fastest of the rounds; ratios are over native.')
  if (load.before > BUSY) print(`Other programs were running: load ${load.before.toFixed(1)}.`)
  print('')
  table(
    ['kernel', 'L', 'native', 'GFLOP/s', '% of peak', 'wasm', 'torch'],
    kernels.map(row => [
      row.name,
      row.length ?? '',
      ms(row.native),
      row.gflops === null ? '' : row.gflops.toFixed(1),
      row.peak_pct === null ? '' : row.peak_pct.toFixed(0),
      times(row.wasm_over_native),
      times(row.torch_over_native),
    ]),
  )
  table(
    ['causal over bidirectional', 'L', 'time'],
    rest.causal_over_bidirectional.map(({method, length, ratio}) => [method, length, times(ratio)]),
  )
  table(
    ['two threads', 'one', 'two', 'speed-up'],
    rest.threads.map(row => [
      row.name,
      ms({min_ns: row.one_ns}),
      ms({min_ns: row.two_ns}),
      times(row.speedup),
    ]),
  )
  table(
    ['decode', 'tokens', 'native', 'torch', 'than exact', 'state', 'of exact'],
    rest.decode.map(row => [
      `${row.method} M=${row.num_features}`,
      row.tokens,
      ms(row.native),
      ms(row.torch),
      times(row.faster_than_exact),
      `${(row.state_bytes / 2 ** 20).toFixed(2)} MiB`,
      `${(100 * row.state_over_exact).toFixed(1)} %`,
    ]),
  )
  table(
    ['peak memory over inputs and output', 'L', 'form', 'MiB'],
    rest.memory.map(row => [
      row.method,
      row.seq_len,
      row.causal ? 'causal' : 'bidirectional',
      (row.peak_over_inputs_and_output_bytes / 2 ** 20).toFixed(1),
    ]),
  )
}

function table(head, rows) {
  if (rows.length === 0) return
  const colAligns = head.map((_, i) => (i === 0 ? 'left' : 'right'))
  const text = new Table({head, colAligns, style: {head: [], border: []}})
  text.push(...rows)
  print(`${text}\n`)
}

function ms(spread) {
  return spread ? `${(spread.min_ns / 1e6).toPrecision(4)} ms` : ''
}

function times(ratio) {
  return ratio === null ? '' : `${ratio.toFixed(2)}x`
}
