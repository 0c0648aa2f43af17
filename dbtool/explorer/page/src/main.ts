const app = document.getElementById("app");
if (app) app.textContent = "The explorer's application goes here.";

export {};
