from fastapi import APIRouter
routes = APIRouter()
