/** Files and folders, and flags that do not go together. */
import {mkdirSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {writeArrays} from '../../../src/inputs/files/index.js'
import type {NdArray} from '../../../src/inputs/nd-array.js'
import type {Row} from './rows.js'

/** Puts the files that rows name into a folder. */
export async function writeFiles(folder: string): Promise<void> {
  const at = (name: string) => join(folder, name)
  const qkv = {q: filled(2, 9, 5), k: filled(2, 9, 5), v: filled(2, 9, 7)}
  await writeArrays(at('qkv.npz'), qkv)
  await writeArrays(at('qkv.safetensors'), qkv)
  for (const name of ['layer0.npz', 'layer1.npz']) await writeArrays(at(name), qkv)
  await writeArrays(at('narrow.npz'), {...qkv, q: filled(2, 9, 3), k: filled(2, 9, 3)})
  await writeArrays(at('no-v.npz'), {q: qkv.q, k: qkv.k})
  await writeArrays(at('other-names.npz'), {query: qkv.q, key: qkv.k, value: qkv.v})
  await writeArrays(at('lengths.npz'), {...qkv, v: filled(2, 8, 7)})
  await writeArrays(at('dims.npz'), {...qkv, k: filled(2, 9, 6)})
  await writeArrays(at('vectors.npz'), {q: filled(5), k: filled(5), v: filled(5)})
  await writeArrays(at('q.npy'), {q: qkv.q})
  await writeArrays(at('layer-without-v.npz'), {'layers.0.q': qkv.q, 'layers.0.k': qkv.k})
  for (const name of ['empty.npy', 'empty.npz', 'empty.safetensors']) writeFileSync(at(name), '')
  for (const name of ['text.npy', 'text.npz', 'text.safetensors', 'text.csv', 'weights.pt']) {
    writeFileSync(at(name), 'no arrays, only words\n'.repeat(9))
  }
  for (const name of ['folder', 'folder.npz', 'run']) mkdirSync(at(name))
  writeFileSync(at(join('run', 'notes.txt')), 'mine')
}

function filled(...shape: number[]): NdArray {
  const length = shape.reduce((product, size) => product * size, 1)
  return {
    shape,
    dtype: 'float32',
    data: Float32Array.from({length}, (_, i) => Math.sin(i * 13) / 2),
  }
}

const APPLY = 'apply --backend cpu -m elu'

export const INPUT_FILES: readonly Row[] = [
  ['error-sweep -i nowhere.npz', 3, /nowhere\.npz: no such file/],
  ['error-sweep -i DIR/qkv.npz,DIR/qkv.safetensors --dry-run', 0, /L=9/],
  ['error-sweep -i DIR/qkv.npz DIR/qkv.safetensors --dry-run', 0, /L=9/],
  ['error-sweep -i DIR/layer0.npz DIR/layer1.npz -m elu --dry-run', 0, /layer 1 L=9/],
  ['error-sweep -i DIR/layer0.npz -i DIR/layer1.npz --layer 1 --dry-run', 0, /layer 1 L=9/],
  [
    'error-sweep -i DIR/layer0.npz,DIR/layer1.npz --layer 2',
    3,
    /expected layer 2, got layers 0, 1/,
  ],
  [
    'error-sweep -i DIR/layer0.npz,DIR/qkv.npz',
    2,
    /a layer in the name or metadata .* none in .*qkv/,
  ],
  ['error-sweep -i DIR/qkv.npz,DIR/narrow.npz', 3, /files of one layer with one head dimension/],
  ['error-sweep -i DIR/qkv.npz,DIR/dims.npz', 3, /query and key of the same head dimension/],
  [
    'variance -i DIR/layer0.npz,DIR/layer1.npz',
    2,
    /--input: expected one layer, got layers 0, 1\n.*--layer/,
  ],
  ['bench -i DIR/layer0.npz DIR/layer1.npz --dry-run', 0, /L=9/],
  ['inputs -i DIR/layer0.npz DIR/layer1.npz --dry-run', 0, /layer 1/],
  [
    'error-sweep -i DIR/q.npy,DIR/q.npy',
    2,
    /three \.npy files .*got 2 files: .*\n.*name three: --input/,
  ],
  [
    'error-sweep -i DIR/layer-without-v.npz --layer 0',
    3,
    /expected an array "layers\.0\.v"/,
    /did you mean layers\.0\.[qk]/,
  ],
  ['error-sweep -i DIR/folder.npz', 3, /folder\.npz: expected/],
  ['error-sweep -i DIR/folder', 3, /folder: expected a file, got a directory/],
  ['error-sweep -i DIR/text.csv', 3, /expected one of the formats .*got \.csv/],
  ['error-sweep -i DIR/weights.pt', 3, /weights\.pt: expected one of the formats/],
  ['error-sweep -i DIR/empty.npy', 3, /empty\.npy/],
  ['error-sweep -i DIR/empty.npz', 3, /empty\.npz/],
  ['error-sweep -i DIR/empty.safetensors', 3, /empty\.safetensors/],
  ['error-sweep -i DIR/text.npy', 3, /text\.npy/],
  ['error-sweep -i DIR/text.npz', 3, /text\.npz/],
  ['error-sweep -i DIR/text.safetensors', 3, /text\.safetensors/],
  ['error-sweep -i DIR/no-v.npz', 3, /value/],
  ['error-sweep -i DIR/other-names.npz --dry-run', 3, /query/],
  [
    'error-sweep -i DIR/other-names.npz --query-name query --key-name key --value-name value --dry-run',
    0,
    /^error-sweep: /,
  ],
  ['error-sweep -i DIR/qkv.npz --query-name Q', 3, /Q/],
  ['error-sweep -i DIR/lengths.npz', 3, /same length|length/],
  ['error-sweep -i DIR/dims.npz', 3, /expected/],
  ['error-sweep -i DIR/vectors.npz', 3, /expected/],
  ['error-sweep -i DIR/q.npy', 3, /q\.npy/],
  ['error-sweep -i DIR/qkv.npz,DIR/qkv.npz,DIR/qkv.npz', 2, /each file once, got .*qkv\.npz twice/],
  ['error-sweep -i a.npy,b.npy,c.npy,d.npy', 2, /three \.npy files/],
  ['error-sweep -i DIR/qkv.npz --seq-len 4096', 2, /--seq-len: expected 1 to 9, .*got 4096/],
  ['error-sweep -i DIR/qkv.npz --dry-run', 0, /L=9/],
  ['error-sweep -i DIR/qkv.npz/x.npz', 3, /no such file/],
  ['bench -i nowhere.npz', 3, /nowhere\.npz: no such file/],
  [
    'bench -i DIR/q.npy,DIR/q.npy',
    2,
    /--input: expected one file, several .* or three \.npy files/,
  ],
  ['bench -i DIR/lengths.npz', 3, /same length|length/],
  ['bench -i DIR/qkv.npz --dry-run', 0, /L=9/],
  ['bench -i DIR/qkv.npz --seq-len 4096 --dry-run', 0, /L=4096/],
  ['error-sweep -i http://example.org/qkv.npz', 3, /no such file/],
  ['error-sweep -i ~/qkv.npz', 3, /no such file/],
  ['error-sweep -i größe.npz', 3, /größe\.npz: no such file/],
  [`${APPLY} -i DIR/no-v.npz -o DIR/a.npz`, 3, /value/],
  [`${APPLY} -i nowhere.npz -o DIR/a.npz`, 3, /no such file/],
  [`${APPLY} -i DIR/lengths.npz -o DIR/a.npz`, 3, /length/],
  [
    `${APPLY} -i DIR/qkv.npz -o DIR/a.html`,
    2,
    /--output: expected a file ending in \.npy, \.npz, \.safetensors/,
  ],
  [`${APPLY} -i DIR/qkv.npz -o DIR/a`, 2, /--output: expected a file ending in/],
  [`${APPLY} -i DIR/qkv.npz -o DIR/qkv.npz`, 2, /qkv\.npz/],
  [`${APPLY} -i DIR/qkv.npz -o DIR/qkv.npz --force`, 2, /qkv\.npz/],
  [`${APPLY} -i DIR/qkv.npz -o DIR/nowhere/a.npz`, 3, /nowhere/],
  [`${APPLY} -i DIR/qkv.npz -o DIR/folder.npz`, 2, /folder\.npz/],
  [`${APPLY} -i DIR/qkv.npz -o DIR/out.npz`, 0, /wrote out /],
  [`${APPLY} -i DIR/qkv.npz -o DIR/text.npz`, 2, /text\.npz/],
  [`${APPLY} -i DIR/qkv.npz -o DIR/q2.npy --scale 1e-300`, 0, /wrote out /],
]

export const RUN_FOLDERS: readonly Row[] = [
  ['merge nowhere', 3, /nowhere: expected the directory of a run, got no such folder/],
  ['run DIR/qkv.npz', 3, /qkv\.npz: expected JSON, got a file that is not text\n/],
  ['merge DIR/run', 3, /one without manifest\.json/],
  ['report nowhere', 3, /nowhere: expected the directory of a run, got no such folder/],
  ['report DIR/run', 3, /one without manifest\.json/],
  ['report DIR/text.csv', 3, /expected the directory of a run, got a file/],
  [
    'report DIR/run -o DIR/report.html',
    2,
    /a Markdown file, ending in \.md, or - for stdout.*\n.*--html writes a page/,
  ],
  ['report DIR/run --html report.pdf', 2, /--html: expected an HTML file/],
  ['report DIR/run --open', 2, /--open: expected a file beside it, as in --html report\.html/],
  ['report DIR/run --html - -o -', 2, /--output -: expected a file beside it/],
  ['report DIR/run -o report.json', 2, /--json prints JSON/],
  ['report DIR/run -o report.csv', 2, /records\.csv/],
  ['report DIR/run -o report.pdf', 2, /a Markdown file/],
  ['compare DIR/run DIR/nowhere', 3, /one without manifest\.json/],
  ['compare DIR/run', 2, /RUN: expected two runs, got 1/],
  ['compare DIR/run DIR/run/', 2, /expected two runs, got \S+ twice/],
  ['compare DIR/run nowhere -o report.pdf', 2, /ending in \.md, \.csv, \.json or \.html/],
  ['history DIR/nowhere', 3, /nowhere: expected folders of runs, got none/],
  ['history DIR/run', 3, /run: expected folders of runs, got none\n.*such as results/],
  ['history DIR/run -o history.pdf', 2, /ending in \.md, \.csv, \.json or \.html/],
  ['bench --resume', 2, /--resume: expected --output DIR beside it, got none/],
  ['bench --quick --resume --json', 2, /"USAGE"/],
]

export const CONTRADICTIONS: readonly Row[] = [
  ['swap --layers each --budget 0.01', 2, /--layers: .*got each\n.*Try: leave it out/],
  ['variance --pairs 4 --norms 1', 2, /^--norms: .*got --pairs\n/],
  ['variance -i DIR/qkv.npz --angles 90', 2, /^--angles: .*got --input\n/],
  [
    'apply --backend cpu -m rfa-gate -i DIR/qkv.npz -o DIR/none.npz',
    2,
    /no bidirectional form.*\n.*Try: set --causal\n/,
  ],
  [
    'apply --backend cpu -m nystrom -i DIR/qkv.npz -o DIR/none.npz --causal',
    2,
    /no causal form\n.*Try: leave --causal out\n/,
  ],
  ['bench --plugin /nope.js', 3, /\/nope\.js: expected a plug-in.*\n.*check the path\n/],
  ['bench --plugin nope.js', 3, /relative to this folder it is/],
  [
    'error-sweep --generator gaussian -i DIR/qkv.npz',
    2,
    /--generator: expected no --input beside it/,
  ],
  [
    'error-sweep --generator gaussian --query-name q',
    2,
    /--query-name: expected only with --input/,
  ],
  [
    'error-sweep --heads 4',
    2,
    /--heads: expected only with a generated input.*\n.*add --generator/,
  ],
  ['error-sweep --key-len 4', 2, /--key-len: expected only with a generated input/],
  ['bench --dry-run --profile', 2, /--dry-run and --profile cannot be given together/],
  [
    'methods --preset hku --num-features 64',
    2,
    /--preset and --num-features cannot be given together|--num-features and --preset/,
  ],
  ['methods --projections --preset hku', 2, /cannot be given together/],
  ['bench --backend wasm --threads 2 --dry-run', 2, /expected 1, all that backend wasm has, got 2/],
  ['variance --projections orth-tall --num-features 64 --head-dim 3 --dry-run', 0, /./],
  ['error-sweep --generator gaussian --key-len 7 --causal --dry-run', 0, /./],
]

export const HARMLESS: readonly Row[] = [
  ['bench --quick --dry-run', 0, /^bench: \d+ cells, predicted time/],
  ['bench --quick --dry-run --json', 0, /"schema": "rfa\./],
  ['error-sweep --quick --dry-run', 0, /^error-sweep: \d+ cells/],
  ['variance --quick --dry-run', 0, /^variance: \d+ cells/],
  ['variance --norms 100 --dry-run', 0, /norm 100/],
  ['variance --norms 1e200 --dry-run', 0, /norm 1e\+200/],
  ['bench --quick --dry-run --quiet', 0, /^bench: /],
  ['bench --quick --dry-run --force', 0, /^bench: /],
  ['bench --quick --dry-run -m rfa-gate', 0, /rfa-gate/],
  ['methods', 0, /favor-pos/],
  ['methods rfa', 0, /^rfa: /],
  ['methods --projections', 0, /\borth\b/],
  ['methods orth --projections', 0, /^orth: /],
  ['methods --preset hku', 0, /^rfa|^favor/m],
  ['methods --json', 0, /"methods": \[/],
  ['completion', 2, /^SHELL: expected one of bash, zsh, fish, got nothing/],
  ['completion powershell', 2, /^expected one of bash, zsh, fish, got "powershell"/],
  ['completion bash', 0, /^complete .* rfa$/m],
  ['methods --details --num-features 1k --head-dim 1e3', 0, /1024/],
  ['methods --details --num-features 9007199254740991', 0, /9007199254740991|9\.01e\+?15/],
]
