// node browser.mjs FOLDER serves FOLDER, which has index.html, houses.onnx and node_modules with onnxruntime-web, puppeteer-core and
// @sparticuz/chromium, moves the sliders of the page in a headless browser, and writes what it shows to rows.json, the inputs to
// rows.csv and a picture to page.png in FOLDER.
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { readFile, writeFile } from "node:fs/promises";
import { extname, join, resolve } from "node:path";

const folder = resolve(process.argv[2]);
const from = createRequire(join(folder, "package.json"));
const load = async name => (await import(from.resolve(name))).default;
const [chromium, puppeteer] = [await load("@sparticuz/chromium"), await load("puppeteer-core")];
const types = { ".html": "text/html", ".mjs": "text/javascript", ".wasm": "application/wasm" };
const server = createServer(async (request, response) => {
	try {
		const path = join(folder, new URL(request.url, "http://localhost").pathname);
		const body = await readFile(path);
		response.writeHead(200, { "Content-Type": types[extname(path)] ?? "application/octet-stream" }).end(body);
	} catch {
		response.writeHead(404).end();
	}
}).listen(0, "127.0.0.1");
await new Promise(ready => server.once("listening", ready));

const cannotStart = 3; // exit code where the machine cannot run the browser
const browser = await puppeteer.launch({ executablePath: await chromium.executablePath(), args: chromium.args, headless: "shell" }).catch(e => {
	console.log(`${e}`.split("\n")[0]);
	process.exit(cannotStart);
});
const rows = [];
try {
	const page = await browser.newPage();
	page.on("pageerror", e => { throw e });
	await page.setViewport({ width: 800, height: 900 });
	await page.goto(`http://127.0.0.1:${server.address().port}/index.html`);
	await page.waitForFunction("document.body.dataset.row", { timeout: 120000 });
	for (const set of [{}, { area: "220" }, { city: "Turin" }, { rooms: "8", age: "5" }]) {
		for (const [id, value] of Object.entries(set)) {
			const before = await page.$eval("body", b => b.dataset.row);
			await page.$eval(`#${id}`, (e, v) => { e.value = v; e.dispatchEvent(new Event("input")) }, value);
			await page.waitForFunction(b => document.body.dataset.row !== b, { timeout: 60000 }, before);
		}
		const row = JSON.parse(await page.$eval("body", b => b.dataset.row));
		row.bars = await page.$$eval("#plot path, #plot polygon", all => all.length);
		rows.push(row);
	}
	await page.screenshot({ path: join(folder, "page.png") });
} finally {
	await browser.close();
	server.close();
}
await writeFile(join(folder, "rows.json"), JSON.stringify(rows));
const inputs = rows.map(r => [r.city, r.rooms, r.area, r.age].join());
await writeFile(join(folder, "rows.csv"), ["city,rooms,area,age", ...inputs, ""].join("\n"));
