// Figures as files: a PNG by the page's own plotly, or a web page that holds its data and plotly itself.

const isDark = () => document.body.classList.contains('dark');

// The figure on a ground of its own: on the page it is transparent.
function groundedFigure({ data, layout }) {
  const ground = themeColours().of('surface');
  const margin = Object.fromEntries(['l', 'r', 't', 'b'].map((side) => [side, (layout.margin?.[side] ?? 40) + 16]));
  return { data, layout: { ...layout, paper_bgcolor: ground, plot_bgcolor: ground, autosize: false, width: 960, height: layout.height || 320, margin } };
}

async function figurePicture(figure) {
  const Plotly = await loadPlotly();
  const { data, layout } = groundedFigure(figure);
  const { width, height } = layout;
  return (await fetch(await Plotly.toImage({ data, layout }, { format: 'png', width, height, scale: 2 }))).blob();
}

// Nothing in the data can leave its place: "<" is written as an escape there.
function figureHtml(name, figure, library) {
  const json = JSON.stringify(groundedFigure(figure)).replaceAll('<', '\\u003c');
  const title = name.replace(/[&<>"]/g, (sign) => '&#' + sign.charCodeAt(0) + ';');
  return '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    + '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; script-src \'unsafe-inline\'; style-src \'unsafe-inline\'; img-src data: blob:">\n'
    + '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>' + title + ' · Token Playground</title>\n'
    + '<style>body { margin: 0; background: ' + themeColours().of('surface') + '; }</style>\n</head>\n<body>\n<div id="figure"></div>\n'
    + '<script>' + library + '<\/script>\n<script>\nconst figure = ' + json + ';\n'
    + "Plotly.newPlot('figure', figure.data, figure.layout, { displayModeBar: false });\n<\/script>\n</body>\n</html>\n";
}

async function figurePage(name, figure) {
  const answer = await fetch(plotlyAddress());
  if (!answer.ok) throw new Error('The library for charts did not load.');
  return new Blob([figureHtml(name, figure, await answer.text())], { type: 'text/html' });
}
